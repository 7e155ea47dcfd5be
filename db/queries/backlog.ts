import { readInScope } from '../transaction.js';
import type { Database } from '../knex.js';

export interface Backlog { outbox_messages: number; outbox_oldest_seconds: number; unsigned_audit_records: number }

/** What waits: messages for Temporal or the mail server, and audit records that no checkpoint covers yet. */
export const backlog = (database: Database): Promise<Backlog> => readInScope(database, '*', async (tx) => {
  const { rows } = await tx.raw(
    `select (select count(*)::int from outbox) as outbox_messages,
       (select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 from outbox) as outbox_oldest_seconds,
       (select coalesce(sum(c.seq - coalesce(k.seq, 0)), 0) from audit_chains c
          left join (select chain, max(seq) as seq from audit_checkpoints group by chain) k using (chain)) as unsigned_audit_records`);
  return (rows as Backlog[])[0]!;
});
