import { namedHistory } from '../../../db/anchor/history.queries.js';
import type { NamedHistoryEntry } from '../../../db/anchor/history.queries.js';
import { readDecision } from '../../../db/anchor/decisions.queries.js';
import type { Tx } from '../../../db/client/database.js';
import { queryAll } from '../../../db/client/query.js';
import type { Statement } from '../../../db/client/one-trip.js';
import { factsStatement } from '../../../db/participants/facts.queries.js';
import type { FactRow } from '../../../db/participants/facts.queries.js';
import { participantStatement } from '../../../db/participants/participants.queries.js';
import type { ParticipantRecord } from '../../../db/participants/participants.queries.js';
import { policyAndFacts } from '../../../workflows/domain/anchor/facts.js';
import type { Policy } from '../../../workflows/domain/anchor/policy-schema.js';
import { waitingConditions } from '../../../workflows/domain/anchor/waiting.js';
import type { WaitingConditions } from '../../../workflows/domain/anchor/waiting.js';
import type { Facts, Trace } from '../../../workflows/domain/util/types.js';
import { staff } from '../../http/access.js';
import type { Actor } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import { mayConfirm } from '../../participants/eligibility.service.js';

/** The missing prerequisites of a participant's anchor, and since when. */
export interface Waiting extends WaitingConditions {
  since: string;
  /** The pending override request. */
  request_id: string | undefined;
}

/** A participant with the facts behind its enrollment date. */
export interface ParticipantView {
  record: ParticipantRecord;
  row: FactRow;
  policy: Policy;
  facts: Facts;
  waiting: Waiting;
  /** What the caller may do for a participant who takes part: about the date by the policy, else by the role. */
  may: Record<'set' | 'override' | 'evaluate' | 'consent' | 'eligibility', boolean>;
}

/** The missing prerequisites as the workflow would report them, computed from the database. */
export function waitingOf(row: FactRow): { policy: Policy; facts: Facts; waiting: Waiting } {
  const { policy, facts } = policyAndFacts(row);
  const pending = row.pending_override;
  const waiting = {
    ...waitingConditions(policy, facts, pending !== null),
    since: pending?.requested_at ?? row.anchor.updated_at,
    request_id: pending?.id,
  };
  return { policy, facts, waiting };
}

/** The first statements of a participant's page. */
export const personStatements = (id: string): [Statement, Statement] => [participantStatement(id), factsStatement(id)];

/** @throws 404 */
export const loadPerson = async (tx: Tx, actor: Actor, id: string): Promise<ParticipantView> =>
  participantViewOf(actor, await queryAll(tx, personStatements(id)));

/** @param rows the rows of `personStatements` @throws 404 */
export function participantViewOf(actor: Actor, rows: readonly unknown[][]): ParticipantView {
  const [[record], [row]] = rows as [ParticipantRecord[], FactRow[]];
  if (!record || !row) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  const { policy, facts, waiting } = waitingOf(row);
  const takesPart = record.status === 'enrolled';
  const within = (roles: readonly string[]) => takesPart && roles.includes(actor.role);
  const { can_set, can_override } = policy.permissions;
  const may = {
    set: within(can_set),
    override: within(can_override),
    evaluate: within(staff.participants.roles),
    consent: within(staff.participants.roles),
    eligibility: within(mayConfirm),
  };
  return { record, row, policy, facts, waiting, may };
}

/** The explanation of a date: tried sources, checked rules, known facts. */
export interface Why {
  entry: NamedHistoryEntry | undefined;
  policyVersion: number;
  trace: Trace;
  facts: Facts;
}
export interface DateView {
  history: NamedHistoryEntry[];
  /** Of the selected entry. */
  why: Why | undefined;
  /** Of the present, if the date is not final. */
  now: Why | undefined;
}
/** The most history entries read. */
const MAX_ENTRIES = 100;

/** The history of the enrollment date, and the decision of one entry. @throws 404 no such entry */
export async function loadDate(tx: Tx, person: ParticipantView, entryId: string | undefined): Promise<DateView> {
  const history = await namedHistory(tx, person.record.id, MAX_ENTRIES);
  const entry = entryId ? history.find(({ id }) => id === entryId) : history.find(({ has_decision }) => has_decision);
  if (entryId && !entry) throw problem('NOT_FOUND', { detail: 'There is no such entry.' });
  const kept = entry && (await readDecision(tx, person.record.id, entry.id));
  const { decision } = person.waiting;
  return {
    history,
    why: kept && {
      entry,
      policyVersion: kept.policy_version,
      trace: kept.trace as Trace,
      facts: kept.facts as Facts,
    },
    now:
      decision && person.facts.anchor.status !== 'finalized'
        ? { entry: undefined, policyVersion: person.row.policy_version, trace: decision.trace, facts: person.facts }
        : undefined,
  };
}
