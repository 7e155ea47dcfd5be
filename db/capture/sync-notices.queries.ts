import { putOutbox } from '../outbox/outbox.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/**
 * Notifies the study's active coordinators and data managers that a sync failed: one mail to each until a sync
 * completes, however many fail.
 */
export async function notifySyncFailed(tx: Tx, studyId: string, syncId: string): Promise<void> {
  const rows = await query<{ id: string }>(
    tx,
    `insert into notifications (study_id, user_id, subject_id, kind, channel, dedupe_key)
     select $1::uuid, u.id, $2::uuid, 'sync_failed', 'email', 'sync-failed/' || coalesce(
              (select c.id from datacapture_syncs c where c.study_id = $1 and c.status = 'completed'
                order by c.finished_at desc limit 1),
              $1::uuid) || '/' || u.id
       from user_studies a
       join users u on u.id = a.user_id and u.role in ('coordinator', 'data_manager') and u.status = 'active'
      where a.study_id = $1
     on conflict (dedupe_key) where dedupe_key is not null do nothing returning id`,
    [studyId, syncId],
  );
  await putOutbox(
    tx,
    rows.map(({ id }) => ({ topic: 'notification', studyId, subject: id })),
  );
}
