import { raw } from 'objection';
import { OverrideRequest } from '../models/messages.js';
import type { Signature } from '../models/records.js';
import { statementOf } from '../client/builders.js';
import { queryAll } from '../client/query.js';
import type { Tx } from '../client/database.js';
import { factsOfRequest } from '../participants/facts.queries.js';
import type { FactRow } from '../participants/facts.queries.js';

/** Override requests as an approver reads them. */
const requests = (tx: Tx) =>
  tx('override_requests as o')
    .join('participants as p', 'p.id', 'o.participant_id')
    .select(
      'o.id',
      'o.id as override_request_id',
      'o.study_id',
      'o.participant_id',
      'p.participant_code',
      'o.previous_enrollment_date as enrollment_date',
      'o.new_enrollment_date',
      'o.reason',
      'o.regenerate_schedule',
      'o.requested_by_id',
      'o.requested_at',
      'o.expires_at',
      'o.status',
      'o.decided_by_id',
      'o.decided_at',
      'o.decision_reason',
      'o.signature',
      'o.imported',
      'o.imported_by',
      'o.original_users',
      tx.raw(`o.impact || jsonb_build_object('preview_hash', o.preview_hash) as impact`),
    );

/** An override request as the console shows it, with the names of what it is about. */
export interface Approval {
  id: string;
  study_id: string;
  study_code: string;
  participant_id: string;
  participant_code: string;
  site_code: string | null;
  enrollment_date: string;
  new_enrollment_date: string;
  reason: string | null;
  regenerate_schedule: boolean;
  /** An imported request belongs to its importer. */
  asker_id: string | null;
  asker: string | null;
  requested_at: string;
  expires_at: string;
  status: string;
  decided_by_id: string | null;
  decided_by: string | null;
  decided_at: string | null;
  decision_reason: string | null;
  impact: {
    warnings?: string[];
    visits?: { visit_key: string; name: string; action: string; from?: string; to?: string; notes?: string[] }[];
    preview_hash: string;
  };
}

const named = (tx: Tx) =>
  requests(tx)
    .join('studies as s', 's.id', 'o.study_id')
    .leftJoin('sites as t', 't.id', 'p.site_id')
    .leftJoin('users as a', 'a.id', tx.raw('coalesce(o.requested_by_id, o.imported_by)'))
    .leftJoin('users as d', 'd.id', 'o.decided_by_id')
    .select('s.study_code', 't.site_code', 'a.id as asker_id', 'a.name as asker', 'd.name as decided_by');

/** One request of a study that the caller may see. */
export const approvalById = async (tx: Tx, id: string): Promise<Approval | undefined> =>
  (await named(tx).where('o.id', id).first()) as Approval | undefined;

/**
 * A request with the facts of its participant, and whether the study requires identity proof for signatures, if it says
 * so.
 */
export async function approvalWithFacts(
  tx: Tx,
  id: string,
): Promise<{ approval: Approval; facts: FactRow; asksAgain: boolean | undefined } | undefined> {
  const [[approval], [facts], [study]] = await queryAll<[Approval, FactRow, { asks: unknown }]>(tx, [
    statementOf(named(tx).where('o.id', id)),
    factsOfRequest(id),
    {
      sql: `select s.config #> '{signatures,reauthenticate}' as asks from override_requests o
        join studies s on s.id = o.study_id where o.id = $1`,
      values: [id],
    },
  ]);
  if (!approval || !facts) return undefined;
  return { approval, facts, asksAgain: typeof study?.asks === 'boolean' ? study.asks : undefined };
}

/** Pending requests of all studies that the caller may see, oldest first. */
export async function waitingApprovals(
  tx: Tx,
  { study_id, skip, limit }: { study_id?: string | undefined; skip: number; limit: number },
): Promise<Approval[]> {
  const query = named(tx).where('o.status', 'pending');
  if (study_id) void query.where('o.study_id', study_id);
  return (await query
    .orderBy([{ column: 'o.requested_at' }, { column: 'o.id' }])
    .offset(skip)
    .limit(limit)) as unknown as Approval[];
}

/** The number of pending requests. */
export async function countWaitingApprovals(tx: Tx, study_id?: string): Promise<number> {
  const query = tx('override_requests as o').join('participants as p', 'p.id', 'o.participant_id');
  const [row] = (await query
    .where({ 'o.status': 'pending', ...(study_id && { 'o.study_id': study_id }) })
    .count({ n: '*' })) as { n: string | number }[];
  return Number(row!.n);
}

/** What an approver's decision is about; undefined: the study has no such request that the transaction sees. */
export async function requestOfStudy(
  tx: Tx,
  studyId: string,
  id: string,
): Promise<{ participant_id: string; requested_by_id: string | null; status: string } | undefined> {
  return (
    tx('override_requests as o')
      // Isolation by site holds through the participant.
      .join('participants as p', 'p.id', 'o.participant_id')
      .where({ 'o.id': id, 'o.study_id': studyId })
      .first<{ participant_id: string; requested_by_id: string | null; status: string } | undefined>(
        'o.participant_id',
        // An imported request belongs to its importer.
        tx.raw('coalesce(o.requested_by_id, o.imported_by) as requested_by_id'),
        'o.status',
      )
  );
}

export interface RequestFilter {
  /** Not set: of every study that the caller may see. */
  study_id: string | undefined;
  participant_id?: string;
  status?: string | undefined;
  newestFirst?: boolean;
  skip: number;
  limit: number;
}
export async function listRequests(tx: Tx, filter: RequestFilter): Promise<{ items: unknown[]; total: number }> {
  const matching = (query: ReturnType<typeof requests>) => {
    if (filter.study_id) void query.where('o.study_id', filter.study_id);
    if (filter.participant_id) void query.where('o.participant_id', filter.participant_id);
    if (filter.status) void query.where('o.status', filter.status);
    return query;
  };
  const order = filter.newestFirst ? 'desc' : 'asc';
  const items = await matching(requests(tx))
    .orderBy([
      { column: 'o.requested_at', order },
      { column: 'o.id', order },
    ])
    .offset(filter.skip)
    .limit(filter.limit);
  const [count] = await matching(
    tx('override_requests as o').join('participants as p', 'p.id', 'o.participant_id') as ReturnType<typeof requests>,
  ).count({ n: '*' });
  return { items, total: Number((count as unknown as { n: number }).n) };
}

export type ApproverDecision = 'approve' | 'deny';

/**
 * Stores what an approver signed, for the message that carries out the decision.
 * @param offer `names`: the authorization of that message; and the approver, if any message of theirs may carry it out
 */
export async function offerSignature(
  tx: Tx,
  offer: { requestId: string; names: readonly string[] },
  signature: Signature & { decision: ApproverDecision },
): Promise<void> {
  await OverrideRequest.query(tx)
    .findById(offer.requestId)
    .where({ status: 'pending' })
    .patch({
      offered_signatures: raw('offered_signatures || ?::jsonb', [
        JSON.stringify(Object.fromEntries(offer.names.map((name) => [name, signature]))),
      ]),
    });
}

/** Removes the signature of a refused decision; those of the approver's other decisions stay. */
export async function withdrawSignature(tx: Tx, requestId: string, authorizationIds: readonly string[]): Promise<void> {
  await OverrideRequest.query(tx)
    .findById(requestId)
    .whereRaw('jsonb_exists_any(offered_signatures, ?::text[])', [[...authorizationIds]])
    .patch({ offered_signatures: raw('offered_signatures - ?::text[]', [[...authorizationIds]]) });
}

/** Whether a decision was signed for the message with this authorization, or carried out under it. */
export async function isSigned(tx: Tx, requestId: string, authorizationId: string): Promise<boolean> {
  const offered = await OverrideRequest.query(tx)
    .findById(requestId)
    .whereRaw('jsonb_exists(offered_signatures, ?)', [authorizationId])
    .select('id');
  if (offered) return true;
  const carriedOut = tx('anchor_commands')
    .where({ authorization_id: authorizationId })
    .whereRaw(`outcome->'refused' is null`);
  return (await carriedOut.first('id')) !== undefined;
}

/**
 * Requests whose reminder, timeout or end by a withdrawal is overdue by this long and that have no message in the
 * outbox.
 */
export async function overdueRequests(
  tx: Tx,
  overdueSeconds: number,
): Promise<Pick<OverrideRequest, 'participant_id' | 'study_id'>[]> {
  return OverrideRequest.query(tx)
    .alias('o')
    .join('participants as p', 'p.id', 'o.participant_id')
    .where('o.status', 'pending')
    .whereRaw(
      'least(o.expires_at, case when o.reminded_at is null then o.remind_at end, ' +
        `case when p.status = 'withdrawn' then p.updated_at end) < clock_timestamp() - ? * interval '1 second'`,
      [overdueSeconds],
    )
    .whereNotExists(tx('outbox as x').whereRaw('x.subject = o.participant_id::text'))
    .select('o.participant_id', 'o.study_id');
}
