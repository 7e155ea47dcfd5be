import { HASHED_COLUMNS } from './audit-records.js';
import { prepared, query } from '../client/query.js';
import { UUID } from '../client/uuid.js';
import type { Tx } from '../client/database.js';

export interface AuditFilter {
  study_id?: string | undefined;
  user_id?: string | undefined;
  action?: string | undefined;
  resource_type?: string | undefined;
  resource_id?: string | undefined;
  request_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  skip: number;
  limit: number;
}

const EQUAL = ['study_id', 'user_id', 'action', 'resource_type', 'resource_id', 'request_id'] as const;

/** An id in capitals is the same id; other names are as they were recorded. */
const spellingsOf = (value: string): string[] => (UUID.test(value) ? [value, value.toLowerCase()] : [value]);

/** Whether the study exists or existed: its chain stays. */
export async function hasChain(tx: Tx, studyId: string): Promise<boolean> {
  const [found] = await query<{ there: boolean }>(
    tx,
    `select exists (select from studies where id = $1::uuid) or exists (select from audit_chains where chain = $2)
      or exists (select from audit_log where chain = $3)
       or exists (select from audit_checkpoints where chain = $4) as there`,
    [studyId, studyId, studyId, studyId],
  );
  return found!.there;
}

export interface ListedAuditRecord {
  id: string;
  study_id: string | null;
  user_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string | null;
  audit_metadata: Record<string, unknown>;
  request_id: string | null;
  created_at: string;
  hash: string;
}

/** Audit records that fit a filter, newest first. Order within a chain is by seq, never by time alone. */
export async function listAudit(tx: Tx, filter: AuditFilter): Promise<{ items: ListedAuditRecord[]; total: number }> {
  const matching = () => {
    const query = tx('audit_log');
    for (const field of EQUAL) if (filter[field] !== undefined) void query.whereIn(field, spellingsOf(filter[field]));
    if (filter.from) void query.where('created_at', '>=', filter.from);
    if (filter.to) void query.where('created_at', '<=', filter.to);
    return query;
  };
  // The time in its hashed form, with all digits, so that the reader can recompute the hash.
  const rows: (ListedAuditRecord & { total: number })[] = await matching()
    .orderBy([
      { column: 'audit_log.created_at', order: 'desc' },
      // Records of several chains may have one time and one number.
      { column: 'chain', order: 'desc' },
      { column: 'seq', order: 'desc' },
    ])
    .offset(filter.skip)
    .limit(filter.limit)
    .select(
      tx.raw(`chain || '/' || seq as id`),
      'seq',
      'chain',
      'study_id',
      'user_id',
      'action',
      'resource_type',
      'resource_id',
      'audit_metadata',
      'request_id',
      tx.raw(HASHED_COLUMNS),
      'prev_hash',
      'hash',
      'hash_version',
      // Counted once, in the same round trip.
      matching().count('*').as('total'),
    );
  if (rows.length === 0 && filter.skip > 0) {
    const [count] = await matching().count({ n: '*' });
    return { items: [], total: Number(count?.n ?? 0) };
  }
  return { items: rows.map(({ total: _total, ...item }) => item), total: Number(rows[0]?.total ?? 0) };
}

/** The records of a participant, by the kind under which the audit log names them: its table. */
export const KEPT_OF_PARTICIPANTS = {
  consent: 'consents',
  eligibility: 'eligibility_assessments',
  randomization: 'randomizations',
  form: 'form_instances',
  visit: 'scheduled_visits',
  session: 'assessment_sessions',
  sync_conflict: 'sync_conflicts',
  notification: 'notifications',
};
const KEPT = Object.entries(KEPT_OF_PARTICIPANTS)
  .map(([kind, table]) => `union all select '${kind}', id::text from ${table} where participant_id = $2::uuid`)
  .join('\n');

export type ParticipantAuditRecord = Pick<
  ListedAuditRecord,
  'id' | 'created_at' | 'action' | 'resource_type' | 'user_id' | 'request_id'
>;

/** The audit records of a participant and of everything that is kept of it, newest first. */
export async function listAuditOfParticipant(
  tx: Tx,
  of: { study_id: string; participant_id: string; skip: number; limit: number },
): Promise<{ items: ParticipantAuditRecord[]; total: number }> {
  const rows = await prepared<ParticipantAuditRecord & { total: number }>(
    tx,
    `with kept (kind, id) as materialized (select 'participant', $2::uuid::text ${KEPT}),
     found as materialized (
       select l.chain || '/' || l.seq as id, l.seq, l.created_at, l.action, l.resource_type, l.user_id, l.request_id
         from kept k join audit_log l on l.resource_type = k.kind and l.resource_id = k.id where l.study_id = $1)
     select f.*, c.total from (select count(*) as total from found) c
       left join lateral (select * from found order by created_at desc, seq desc offset $3 limit $4) f on true
       order by f.created_at desc, f.seq desc`,
    [of.study_id, of.participant_id, of.skip, of.limit],
  );
  return {
    total: rows[0]!.total,
    items: rows.filter(({ id }) => id !== null).map(({ total: _total, ...item }) => item),
  };
}
