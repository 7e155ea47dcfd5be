import type { Stage } from '../anchor/stage.js';
import { brokenInvariants } from '../anchor/invariants.js';
import { anchorState, participantAnchorId, workflowTypes } from '../../workflows/contract.js';
import type { Observed } from './checker.js';
import type { Ledger } from './ledger.js';
import type { Setting } from './setting.js';

/** States of a workflow that none ends in. */
const BAD_ENDS = ['Failed', 'Terminated', 'TimedOut', 'Canceled'];

/** Reads everything that a run may have left: database, Temporal, capture system, mailboxes. */
export async function observe(stage: Stage, setting: Setting, ledger: Ledger): Promise<Observed> {
  const studies = Object.values(ledger.studies);
  const rows = <T>(statement: string) => stage.sql<T>(statement, [studies]);
  const anchors = await rows<Observed['anchors'][number]>(
    'select participant_id as participant, enrollment_date_value as date, status, version from anchor_dates where study_id = any(?)',
  );
  const written = setting.written();
  return {
    participants: await rows(
      `select id, study_id as study, participant_code as code, external_id, enrollment_date from participants where study_id = any(?)`,
    ),
    anchors,
    histories: await rows(
      'select participant_id as participant, array_agg(event_type::text order by seq) as types from anchor_date_history where study_id = any(?) group by 1',
    ),
    events: await rows(
      `select participant_id as participant, array_agg(type::text order by seq) as types from domain_events where study_id = any(?) and type like 'ENROLLMENT_DATE%' group by 1`,
    ),
    consents: await rows('select id, participant_id as participant from consents where study_id = any(?)'),
    visits: await rows(
      'select id, participant_id as participant, status, session_id, visit_window_id is null and datacapture_event is null as by_hand from scheduled_visits where study_id = any(?)',
    ),
    sessions: await rows(`select s.id, s.participant_id as participant, s.visit_id, s.status, s.sync_status,
      coalesce((select jsonb_object_agg(k.task, k.summary) from session_tasks k where k.session_id = s.id), '{}') as summaries,
      coalesce((select sum(c.trials) from raw_trial_chunks c where c.session_id = s.id), 0)::int as trials from assessment_sessions s where s.study_id = any(?)`),
    triggers: await rows('select record, status, outcome from webhook_events where study_id = any(?)'),
    written,
    standing: Object.fromEntries(written.map(({ record }) => [record, setting.standing(record)])),
    reminders: await rows(
      `select visit_id as visit, status from notifications where study_id = any(?) and kind = 'visit_reminder' and visit_id in (select id from scheduled_visits where visit_window_id is null)`,
    ),
    mails: await mails(stage),
    broken: (await Promise.all(studies.map((study) => brokenInvariants(stage, study)))).flat(),
    chains: await chains(setting),
    unconverged: [...(await waiting(stage, studies)), ...(await workflowFaults(stage, anchors))],
  };
}

async function mails(stage: Stage): Promise<Observed['mails']> {
  const caught = (await (await fetch(`${stage.run.mail_ui}/email`)).json()) as {
    id: string;
    to: { address: string }[];
  }[];
  return caught.flatMap(({ id, to }) => to.map(({ address }) => ({ to: address, id })));
}

async function chains({ admin }: Setting): Promise<Observed['chains']> {
  const verdict = await admin.expect<{ valid: boolean }>(200, 'GET', '/api/audit/verify');
  return [
    {
      chain: 'of every study',
      valid: verdict.valid,
      problem: verdict.valid ? null : JSON.stringify(verdict).slice(0, 500),
    },
  ];
}

/** What is still to be done, in words. */
export async function waiting(stage: Stage, studies: readonly string[]): Promise<string[]> {
  const rows = await stage.sql<{ what: string }>(
    `
    select 'outbox: ' || topic || ' ' || subject || ' after ' || attempts || ' attempts ' || coalesce(last_error, '') as what from outbox
    union all select 'trigger ' || record || ' is ' || status from webhook_events where study_id = any(:studies) and status in ('received', 'processing')
    union all select 'push of ' || session_id || ' is ' || status || ' ' || coalesce(error_type, '') from result_pushes where study_id = any(:studies) and status in ('pending', 'waiting')
    union all select 'override request ' || id from override_requests where study_id = any(:studies) and status = 'pending'
    union all select 'reminder of ' || visit_id from notifications where study_id = any(:studies) and status = 'pending' and due_at < clock_timestamp()`,
    { studies },
  );
  return rows.map(({ what }) => what);
}

/** Every participant has a process that knows what the database knows, and none ended as it should not. */
async function workflowFaults(stage: Stage, anchors: Observed['anchors']): Promise<string[]> {
  const faults: string[] = [];
  const ended = BAD_ENDS.map((status) => `ExecutionStatus = '${status}'`).join(' or ');
  for await (const run of stage.temporal.workflow.list({ query: ended }))
    faults.push(`workflow ${run.workflowId} is ${run.status.name}`);
  const running = new Set<string>();
  for await (const run of stage.temporal.workflow.list({
    query: `WorkflowType = '${workflowTypes.participantAnchor}' and ExecutionStatus = 'Running'`,
    pageSize: 1000,
  }))
    running.add(run.workflowId);
  for (const anchor of anchors) {
    if (!running.has(participantAnchorId(anchor.participant))) {
      faults.push(`participant ${anchor.participant} has no workflow`);
      continue;
    }
    // One whose history cannot be replayed answers nothing for good: that is what is to be found here.
    const state = await stage
      .handle(anchor.participant)
      .query(anchorState)
      .catch((fault: Error) => {
        faults.push(`workflow of ${anchor.participant} does not answer: ${fault.message}`);
      });
    if (state === undefined) continue;
    if (state?.version !== anchor.version || state.status !== anchor.status || state.enrollment_date !== anchor.date) {
      faults.push(
        `workflow of ${anchor.participant} shows version ${state?.version} (${state?.status}), the database ` +
          `has ${anchor.version} (${anchor.status})`,
      );
    }
  }
  return faults;
}
