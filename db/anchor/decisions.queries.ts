import { hash } from 'node:crypto';
import { canonicalJson } from '../audit/canonical-json.js';
import { chunk } from '../client/sets/chunk.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** The content behind a history entry: the snapshot, the policy as stored, the request and its result. */
export interface DecisionContent {
  policy_version: number;
  policy: unknown;
  facts: unknown;
  command: unknown;
  trace: unknown;
  decision: unknown;
  approver_user_id: string | null;
}

/** Policies in canonical form: the decisions of a batch share one, which is longer than the rest of them. */
const policies = new WeakMap<object, string>();

function canonicalPolicy(policy: unknown): string {
  if (typeof policy !== 'object' || policy === null) return canonicalJson(policy ?? null);
  let text = policies.get(policy);
  if (text === undefined) policies.set(policy, (text = canonicalJson(policy)));
  return text;
}

/**
 * The digest of a decision that its audit record carries: SHA-256 of its content's canonical JSON, written member by
 * member in their order.
 */
export const decisionHash = (content: DecisionContent): string =>
  hash(
    'sha256',
    `{"approver_user_id":${canonicalJson(content.approver_user_id)},"command":${canonicalJson(content.command)}` +
      `,"decision":${canonicalJson(content.decision)},"facts":${canonicalJson(content.facts)}` +
      `,"policy":${canonicalPolicy(content.policy)},"policy_version":${canonicalJson(content.policy_version)}` +
      `,"trace":${canonicalJson(content.trace)}}`,
    'hex',
  );

export interface DecisionRow extends DecisionContent {
  history_id: string;
  actor_user_id: string | null;
  imported: boolean;
  imported_by: string | null;
  original_users: Record<string, string> | null;
  /** The digest in the audit chain; null where the record is not there. */
  sealed_hash: string | null;
}

/** An import's audit action for the decisions of one participant: the digest of each, by its history entry. */
export const IMPORT_ACTION = 'decisions_imported';

const CONTENT = 'd.policy_version, p.policy, d.facts, d.command, d.trace, d.decision, d.approver_user_id';
const TABLES = `anchor_date_history h join anchor_decisions d on d.history_id = h.id
  left join enrollment_policies p on p.study_id = h.study_id and p.policy_version = d.policy_version`;
const SEALED = `(select coalesce(l.audit_metadata->>'decision_hash', l.audit_metadata->'decision_hashes'->>h.id::text)
  from audit_log l
  where l.resource_type = 'participant' and l.resource_id = h.participant_id::text
    and (l.audit_metadata->>'history_id' = h.id::text
      or (l.action = '${IMPORT_ACTION}' and l.audit_metadata->'decision_hashes'->>h.id::text is not null))
  order by l.seq limit 1)`;

/** The decision behind a history entry of a participant; undefined where there is no such entry. */
export async function readDecision(tx: Tx, participantId: string, historyId: string): Promise<DecisionRow | undefined> {
  const rows = await query<DecisionRow>(
    tx,
    `select h.id as history_id, h.actor_user_id, h.imported, h.imported_by, h.original_users, ${CONTENT},
      ${SEALED} as sealed_hash from ${TABLES} where h.id = $1 and h.participant_id = $2`,
    [historyId, participantId],
  );
  return rows[0];
}

export interface DecisionSeals {
  participant_id: string;
  decision_hashes: Record<string, string>;
}
/** How many decisions are read at a time, and the most digests in one record: 25 KB. */
const READ = 500,
  SEALS = 250;

/** The digests of all decisions of a study, as they are stored, participant by participant. */
export async function sealsOf(tx: Tx, studyId: string): Promise<DecisionSeals[]> {
  const entries = await query<{ id: string }>(
    tx,
    `select h.id from anchor_date_history h join anchor_decisions d on d.history_id = h.id where h.study_id = $1
      order by h.participant_id, h.seq`,
    [studyId],
  );
  const seals: DecisionSeals[] = [];
  let open: DecisionSeals | undefined,
    held = 0;
  for (const some of chunk(entries, READ)) {
    const rows = await query<DecisionContent & { history_id: string; participant_id: string }>(
      tx,
      `select h.id as history_id, h.participant_id, ${CONTENT} from ${TABLES} where h.id = any($1::uuid[])
        order by h.participant_id, h.seq`,
      [some.map(({ id }) => id)],
    );
    for (const row of rows) {
      if (open?.participant_id !== row.participant_id || held === SEALS) {
        seals.push((open = { participant_id: row.participant_id, decision_hashes: {} }));
        held = 0;
      }
      open.decision_hashes[row.history_id] = decisionHash(row);
      held += 1;
    }
  }
  return seals;
}
