import { putOutbox } from './outbox.js';
import type { OutboxTopic } from './outbox.js';
import { execute, query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** A study's change that is being applied to the participants. */
export interface OpenChange {
  study_id: string;
  change_id: string;
  kind: string;
  actor_user_id: string | null;
}

/** Stores a change before Temporal has it, so that it can't be lost with Temporal. Does nothing for a deleted study. */
export async function noteChange(tx: Tx, { study_id, change_id, kind, actor_user_id }: OpenChange): Promise<void> {
  await execute(
    tx,
    `insert into open_study_changes (study_id, change_id, kind, actor_user_id)
     select s.id, $1, $2, $3::uuid from studies s where s.id = $4 for key share on conflict (study_id, change_id)
       do nothing`,
    [change_id, kind, actor_user_id, study_id],
  );
}

/** Kind, author and time (ISO 8601, six digits) of a change in progress, as stored before Temporal had it. */
export interface NotedChange {
  kind: string;
  actor_user_id: string | null;
  begun_at: string;
}
/** Undefined: no such change is in progress. */
export const notedChange = async (tx: Tx, studyId: string, changeId: string): Promise<NotedChange | undefined> =>
  tx('open_study_changes')
    .where({ study_id: studyId, change_id: changeId })
    .first<NotedChange | undefined>(
      'kind',
      'actor_user_id',
      tx.raw(`to_char(begun_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as begun_at`),
    );

/** The change was applied to all participants. */
export async function closeChange(tx: Tx, studyId: string, changeId: string): Promise<void> {
  await tx('open_study_changes').where({ study_id: studyId, change_id: changeId }).delete();
}

/**
 * Work that a workflow should be doing: its topic and the content of its message. `key` identifies it within its topic.
 */
export interface OpenWork {
  topic: OutboxTopic;
  /** null: it concerns no single study. */
  study_id: string | null;
  subject: string;
  key: string;
  payload: Record<string, unknown>;
}

const BATCH_SIZE = 5_000;

/**
 * Work that has been open so long that its workflow should be running: triggers, exports (until their files are
 * removed), simulations, syncs, changes of studies and verifications of audit chains, the oldest first. Work still in
 * the outbox is not included. (Nor are polls: the next run continues where one stopped.)
 */
export async function pendingWork(tx: Tx, olderSeconds: number): Promise<OpenWork[]> {
  const rows = await query<OpenWork>(
    tx,
    `select w.topic, w.study_id, w.subject, w.key, w.payload from (
       select 'trigger' as topic, study_id, id::text as subject, id::text as key, '{}'::jsonb as payload,
         received_at as at from webhook_events where status in ('received', 'processing')
       union all select 'export', study_id, id::text, id::text, '{}', created_at from exports
         where status in ('pending', 'running')
       union all select 'export', study_id, id::text, id::text, '{}', expires_at from exports
         where status = 'completed' and expires_at < clock_timestamp()
       union all select 'simulation', study_id, id::text, id::text, '{}', created_at from simulations
         where status in ('pending', 'running')
       union all select 'datacapture-sync', study_id, id::text, id::text, '{}', started_at from datacapture_syncs
         where status = 'running' and kind = 'sync'
       union all select 'study-changed', study_id, study_id::text, change_id,
         jsonb_build_object('kind', kind, 'change_id', change_id, 'actor_user_id', actor_user_id), begun_at
         from open_study_changes
       union all select 'audit-verification', null, id::text, id::text, '{}', created_at from audit_verifications
         where status in ('pending', 'running')
     ) w where w.at < clock_timestamp() - $1 * interval '1 second'
       and not exists (select from outbox o where o.topic = w.topic and o.subject = w.subject
         and (w.topic <> 'study-changed' or o.payload->>'change_id' = w.key))
     order by w.at limit $2`,
    [olderSeconds, BATCH_SIZE],
  );
  return rows;
}

/** Queues a restart of this work's workflows. */
export const requeue = (tx: Tx, work: readonly OpenWork[]): Promise<void> =>
  putOutbox(
    tx,
    work.map(({ topic, study_id, subject, payload }) => ({ topic, studyId: study_id, subject, payload })),
  );

/** The participants of these whose start is in the outbox. */
export const waitingStarts = (tx: Tx, participantIds: readonly string[]): Promise<string[]> =>
  tx('outbox')
    .where({ topic: 'participant-start' })
    .whereRaw('subject = any(?)', [[...participantIds]])
    .pluck('subject');

/** Whether a study's change is in the outbox, under its own id or its message's. */
export async function isChangeWaiting(tx: Tx, studyId: string, changeId: string): Promise<boolean> {
  const waiting = (await tx('outbox')
    .where({ topic: 'study-changed', study_id: studyId })
    .whereRaw(`coalesce(payload->>'change_id', id::text) = ?`, [changeId])
    .first('id')) as { id: number } | undefined;
  return waiting !== undefined;
}
