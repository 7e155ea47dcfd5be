import type { Tx } from '../../../db/client/database.js';
import { queryAll } from '../../../db/client/query.js';
import type { Statement } from '../../../db/client/one-trip.js';
import { factsStatement } from '../../../db/participants/facts.queries.js';
import type { FactRow } from '../../../db/participants/facts.queries.js';
import { nextStatement, participantsIn, participantsPage } from '../../../db/participants/participants.queries.js';
import type { NextRow, PageRow, ParticipantRecord } from '../../../db/participants/participants.queries.js';
import { studiesToChoose } from '../../../db/studies/studies.queries.js';
import type { StudyToChoose } from '../../../db/studies/studies.queries.js';
import { waitingOf } from './participant.service.js';
import type { Waiting } from './participant.service.js';

export const LIST_PAGE = 50;

/** The filter of the list. An email address comes by form only, never in a URL. */
export interface Narrowed {
  code?: string | undefined;
  /** Text with an @: a part of an address, or of a code that has one. */
  email?: string | undefined;
  study?: string | undefined;
  status?: string | undefined;
  skip?: number | undefined;
}
export interface ListedParticipant {
  record: ParticipantRecord;
  study_code: string;
  anchor_status: string;
  is_override: boolean;
  waiting: Waiting;
  next: { name: string; target_date: string } | undefined;
  last_session: string | null;
}
export interface ParticipantList {
  items: ListedParticipant[];
  total: number;
  studies: StudyToChoose[];
}

/** The first statements of a participants page: the studies to choose from, and the rows. */
export const listStatements = (filter: Narrowed): [Statement, Statement] => [
  studiesToChoose,
  {
    ...participantsPage({
      studyId: filter.study || undefined,
      status: filter.status || undefined,
      code: filter.code || undefined,
      search: filter.email || undefined,
      skip: filter.skip ?? 0,
      limit: LIST_PAGE,
      sort: 'participant_code',
    }),
    customPlan: true,
  },
];

/**
 * A page of participants with missing prerequisites, next visit and last session.
 * @param answers the rows of `listStatements`
 */
export async function loadParticipants(tx: Tx, answers: readonly unknown[][]): Promise<ParticipantList> {
  const [studies, listed] = answers as [StudyToChoose[], PageRow[]];
  const { items, total } = participantsIn(listed);
  if (items.length === 0) return { items: [], total, studies };
  const ids = items.map(({ id }) => id);
  const [facts, ahead] = await queryAll<[FactRow, NextRow]>(tx, [factsStatement(...ids), nextStatement(ids)]);
  const rows = new Map(facts.map((row) => [row.participant_id, row]));
  const next = new Map(ahead.map((row) => [row.id, row]));
  return {
    studies,
    total,
    // A participant deleted meanwhile is left out.
    items: items.flatMap((record) => {
      const row = rows.get(record.id);
      const ahead = next.get(record.id);
      if (!row || !ahead) return [];
      return {
        record,
        study_code: row.study_code,
        anchor_status: row.anchor.status,
        is_override: row.anchor.is_override,
        waiting: waitingOf(row).waiting,
        next: ahead.visit && ahead.target_date ? { name: ahead.visit, target_date: ahead.target_date } : undefined,
        last_session: ahead.last_session,
      };
    }),
  };
}
