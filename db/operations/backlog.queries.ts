import { readInScope } from '../client/transaction.js';
import { query } from '../client/query.js';
import type { Database } from '../client/database.js';

/** Pending work, and work that needs a person. The names are those of the worker's metrics. */
export interface Backlog {
  outbox_messages: number;
  outbox_oldest_seconds: number;
  audit_unsigned_records: number;
  audit_unsigned_seconds: number;
  triggers_waiting: number;
  triggers_oldest_seconds: number;
  pushes_waiting: number;
  pushes_failed: number;
  capture_breakers_open: number;
  event_deliveries_waiting: number;
  override_requests_pending: number;
  log_archive_failing: number;
}

/** Low-priority messages wait for minutes behind a large import, which is normal; this many attempts are not. */
const TRIED = 3;

/** Reads the backlog of all studies; each count uses an index of pending rows only. */
export const backlog = (database: Database): Promise<Backlog> =>
  readInScope(database, '*', async (tx) => {
    const rows = await query<Backlog>(
      tx,
      `select (select count(*)::int from outbox) as outbox_messages,
       (select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 from outbox
         where not patient or attempts > ${TRIED}) as outbox_oldest_seconds,
       (select coalesce(sum(c.seq - coalesce(k.seq, 0)), 0)::float8 from audit_chains c
          left join (select chain, max(seq) as seq from audit_checkpoints group by chain) k
            using (chain)) as audit_unsigned_records,
       (select coalesce(extract(epoch from clock_timestamp() - min(l.created_at)), 0)::float8 from audit_chains c
          left join (select chain, max(seq) as seq from audit_checkpoints group by chain) k using (chain)
          join audit_log l on l.chain = c.chain and l.seq = coalesce(k.seq, 0) + 1) as audit_unsigned_seconds,
       t.waiting as triggers_waiting, t.oldest as triggers_oldest_seconds, p.waiting as pushes_waiting,
         p.failed as pushes_failed,
       (select count(*)::int from datacapture_breakers where state <> 'closed') as capture_breakers_open,
       (select count(*)::int from event_deliveries where status = 'pending') as event_deliveries_waiting,
       (select count(*)::int from override_requests where status = 'pending') as override_requests_pending,
       (select coalesce((last_failed_time > coalesce(last_archived_time, '-infinity'))::int, 0)
         from pg_stat_archiver) as log_archive_failing
     from (select count(*)::int as waiting, coalesce(extract(epoch from clock_timestamp() - min(received_at)),
       0)::float8 as oldest
             from webhook_events where status in ('received', 'processing')) t,
       (select count(*) filter (where status = 'waiting')::int as waiting,
         count(*) filter (where status = 'failed')::int as failed
          from result_pushes where status in ('waiting', 'failed')) p`,
    );
    return rows[0]!;
  });
