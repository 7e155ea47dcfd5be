import { Http } from '../../test/support/http.js';
import type { Stage } from '../../test/anchor/stage.js';

interface Place {
  stage: Stage;
  study_id: string;
  /** The user whose own records (imports, documents) are shown. */
  user_id: string;
  participant_ids: readonly string[];
  /** A participant with a completed visit, and that visit. */
  visit: { participant_id: string; id: string };
}

/** The first id that a list of the API has. */
async function firstOf(admin: Http, path: string): Promise<string> {
  const { items } = await admin.expect<{ items: { id: string }[] }>(200, 'GET', path);
  if (!items[0]) throw new Error(`${path} lists nothing`);
  return items[0].id;
}

/** A session with results that was ended, whose push the capture system then refused. */
async function refusedPush({ stage, participant_ids, visit }: Place): Promise<void> {
  const { admin, run } = stage;
  const { body } = await admin.post<{ sessionId: string }>('/api/session/start', {
    participant_id: participant_ids[1],
    language: 'en',
  });
  const device = new Http(run.api);
  const headers = { 'X-Session-ID': body.sessionId };
  const timestamp = new Date().toISOString();
  const raw_trials = Array.from({ length: 12 }, (_, at) => ({
    task: 'n_back',
    trial_index: at,
    rt: 420 + at * 7,
    correct: at % 4 !== 0,
    timestamp,
  }));
  await device.post('/api/submit', { session_id: body.sessionId, raw_trials }, { headers });
  await device.post('/api/session/end', { session_id: body.sessionId }, { headers });
  await stage.sql(`update assessment_sessions set visit_id = ?, sync_status = 'failed' where id = ?`, [
    visit.id,
    body.sessionId,
  ]);
  await stage.sql(
    `insert into result_pushes (session_id, study_id, participant_id, status, error_type, message, attempts, failures)
     select id, study_id, participant_id, 'failed', 'rejected',
       'The capture system refused (400): nback_rt is not a number', 3, 3
       from assessment_sessions where id = ?
     on conflict (session_id) do update set status = 'failed', error_type = 'rejected', next_attempt_at = null,
       attempts = 3,
       message = 'The capture system refused (400): nback_rt is not a number'`,
    [body.sessionId],
  );
}

/** A session that a device sent twice, with different ends. */
async function conflict({ stage: { admin }, study_id, participant_ids }: Place): Promise<string> {
  const item = {
    id: 'device-7/session-31',
    participantId: participant_ids[2],
    studyId: study_id,
    status: 'completed',
    startedAt: new Date(Date.now() - 90_000_000).toISOString(),
    completedAt: new Date(Date.now() - 88_000_000).toISOString(),
    syncStatus: 'pending',
    syncAttempts: 0,
  };
  await admin.expect(200, 'POST', '/api/sync/sessions', item);
  await admin.expect(200, 'POST', '/api/sync/sessions', {
    ...item,
    completedAt: new Date(Date.now() - 86_000_000).toISOString(),
  });
  return firstOf(admin, `/api/studies/${study_id}/sync-conflicts`);
}

/** What came from the capture system: a failed trigger, a sync with records to check, and one that is running. */
async function exchange({ stage, study_id, user_id, participant_ids }: Place): Promise<string> {
  await stage.sql(
    `insert into webhook_events (study_id, project_id, record, instrument, raw_body_hash, status, error, processed_at)
     values (?, '1742', 'MEM-0021', 'enrollment', '\\x00', 'failed',
       'RECORD_NOT_FOUND: The capture system has no such record: it was deleted or renamed.', now())`,
    [study_id],
  );
  const [done] = await stage.sql<{ id: string }>(
    `insert into datacapture_syncs (study_id, kind, status, requested_by_id, listed, records_total, started_at,
      finished_at, counts)
     values (?, 'sync', 'completed', ?, true, 48, now() - interval '2 hours', now() - interval '1 hour',
       '{"created": 3, "updated": 4, "unchanged": 39, "override_required": 1, "failed": 1}') returning id`,
    [study_id, user_id],
  );
  await stage.sql(
    `insert into datacapture_sync_records (sync_id, study_id, record, position, outcome, participant_id, issues) values
      (:sync, :study, 'MEM-0003', 0, 'override_required', :person, '[]'),
      (:sync, :study, 'MEM-0044', 1, 'failed', null,
        '[{"code": "PARTICIPANT_CODE_TAKEN", "message": "Another participant of the study has this participant code."}]')`,
    { sync: done!.id, study: study_id, person: participant_ids[2]! },
  );
  await stage.sql(
    `insert into datacapture_syncs (study_id, kind, status, requested_by_id, listed, records_total, counts)
     values (?, 'sync', 'running', ?, true, 48, '{"created": 2, "updated": 4, "unchanged": 14}')`,
    [study_id, user_id],
  );
  return done!.id;
}

/** An import that is running, one that is done, and a document that is printed. */
async function jobs({ stage, study_id, user_id }: Place): Promise<{ import_id: string; document_id: string }> {
  const [running] = await stage.sql<{ id: string }>(
    `insert into participant_imports (study_id, id, requested_by_id, format, sha256, dry_run, mode, status, phase,
      progress)
     values (?, gen_random_uuid(), ?, 'csv', repeat('a', 64), false, 'insert', 'running', 'writing', 0.62)
       returning id`,
    [study_id, user_id],
  );
  await stage.sql(
    `insert into participant_imports (study_id, id, requested_by_id, format, sha256, dry_run, mode, status, phase,
      progress,
       total_rows, imported_count, updated_count, skipped_count, error_count, completed_at)
     values (?, gen_random_uuid(), ?, 'csv', repeat('b', 64), false, 'insert', 'completed', 'done', 1, 120, 117, 0, 1,
       2, now())`,
    [study_id, user_id],
  );
  const [printed] = await stage.sql<{ id: string }>(
    `insert into report_documents (study_id, requested_by_id, request_id, question, status, progress, attempt,
      taken_until)
     values (?, ?, 'picture', '{"language": "en", "page_size": "a4"}', 'running', 0.45, 1, now() + interval '1 hour')
       returning id`,
    [study_id, user_id],
  );
  return { import_id: running!.id, document_id: printed!.id };
}

/**
 * What waits for somebody, and what is under way: states that only a capture system or a moment brings about are
 * written as rows. @returns the records, by the parameter of their page
 */
export async function workInProgress(place: Place): Promise<Record<string, string>> {
  const { stage, study_id, visit } = place;
  const { admin } = stage;
  await stage.sql(
    `update scheduled_visits set needs_review = true, anchor_reconciled = true, anchor_reconciled_at = now()
      where id = ?`,
    [visit.id],
  );
  await refusedPush(place);
  const conflict_id = await conflict(place);
  const sync_id = await exchange(place);
  const own = await jobs(place);
  const [of, site_id] = [`/api/studies/${study_id}`, await firstOf(admin, `/api/studies/${study_id}/sites`)];
  const [verification] = await stage.sql<{ id: string }>('select id from audit_verifications limit 1');
  return {
    ...own,
    conflict_id,
    sync_id,
    site_id,
    visit_id: visit.id,
    window_id: await firstOf(admin, `/api/schedules/windows?study_id=${study_id}`),
    event_id: await firstOf(admin, `${of}/event-definitions`),
    verification_id: verification!.id,
    template_id: 'longitudinal-cognition',
  };
}
