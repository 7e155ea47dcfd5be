import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { readSettings } from '../../settings.js';
import { anchorState, datacaptureTriggerId } from '../../workflows/contract.js';
import { addDays, dateIn } from '../../workflows/domain/util/dates.js';
import { dataConverterOf } from '../../workflows/util/payload-codec.js';
import { payloadKeysOf } from '../runtime/keys.js';
import { eventually } from './api.js';
import type { CaptureSystem } from './capture.js';
import { addressesOf } from './place.js';
import type { Stage } from './place.js';
import type { Anchor, List, Participant, Schedule, ScheduledVisit, WebhookEvent } from './records.js';
import { demand } from './telling.js';
import type { Tell, Telling } from './telling.js';

/**
 * Realistic ids: with a slash and a Greek letter; a number with leading zeros; the same number without; one without a
 * date.
 */
export const RECORDS = { main: 'A-01/β', leadingZeros: '0007', sameNumber: '7', withoutDate: '1002' } as const;

export interface Enrolled {
  participantId: string;
  enrollmentDate: string;
  baseline: ScheduledVisit & { sessionId: string };
  client: Client;
}

/** The second chapter: from a saved form to a final enrollment date and a first completed visit. */
export async function enroll(
  telling: Telling,
  stage: Stage,
  capture: CaptureSystem,
  connection: Connection,
): Promise<Enrolled> {
  const {
    coordinator,
    place: { run, workflow },
  } = stage;
  const dataConverter = dataConverterOf(payloadKeysOf(readSettings()));
  const client = new Client({ connection, namespace: run.temporal_namespace, ...(dataConverter && { dataConverter }) });
  const enrollmentDate = addDays(dateIn(new Date().toISOString(), stage.study.zone), -20);

  const event = await telling.step(
    `At the site the enrollment form of record "${RECORDS.main}" is saved; its trigger is processed`,
    async (tell) => {
      await save(capture, RECORDS.main, { enrollment_date: enrollmentDate });
      const [first] = await processed(stage, RECORDS.main, 1);
      demand(
        first?.status === 'processed' && first.outcome === 'created',
        `The trigger ended as ${first?.status} (${first?.outcome ?? first?.error}).`,
      );
      tell('event', `${first.status}, outcome ${first.outcome}`);
      tell('see', `${run.api}/api/studies/${stage.study.id}/webhook-events`);
      tell('Temporal', workflow(datacaptureTriggerId(first.id)));
      return first;
    },
  );
  const participantId = event.participant_id;
  demand(participantId, 'The processed trigger names no participant.');
  const at = addressesOf(stage, participantId);

  await telling.step('The same trigger once more changes nothing', async (tell) => {
    await capture.simulator.control.sendTriggers(capture.projectId, {
      record: RECORDS.main,
      instrument: 'enrollment',
      event: 'baseline_arm_1',
    });
    const again = (await processed(stage, RECORDS.main, 2)).find(({ id }) => id !== event.id);
    demand(
      again?.status === 'duplicate' && again.duplicate_of_id === event.id,
      `The repeated trigger ended as ${again?.status}.`,
    );
    tell('event', 'duplicate, of the first one');
  });
  await telling.step(
    'There is a participant with a provisional enrollment date, and schedule version 1',
    async (tell) => {
      const participant = await coordinator.get<Participant>(`/api/participants/${participantId}`);
      demand(
        participant.participant_code === RECORDS.main && participant.external_id === RECORDS.main,
        `The participant is called "${participant.participant_code}".`,
      );
      const anchor = await coordinator.get<Anchor>(at.anchor);
      demand(
        anchor.status === 'provisional' && anchor.enrollment_date === enrollmentDate,
        `The anchor is ${anchor.status}, ${anchor.enrollment_date}.`,
      );
      const schedule = await scheduleOf(stage, at.schedule, 1);
      demand(schedule.visits.length === 4, `The schedule has ${schedule.visits.length} visits, not four.`);
      tell('participant', `${participant.participant_code}, ${participant.site_code ?? 'no site'}`);
      tell('anchor', `${anchor.enrollment_date}, ${anchor.status}, from ${anchor.source_type}`);
      for (const visit of schedule.visits) tell('visit', `${visit.target_date}  ${visit.name}`);
      tell('see', `${run.api}${at.anchor}`);
      tell('see', `${run.api}${at.schedule}`);
    },
  );
  await telling.step('Records with leading zeros and with a missing date arrive as they are', (tell) =>
    arriveOthers(tell, stage, capture),
  );
  await telling.step('The participant’s workflow says what it waits for', async (tell) => {
    const state = await client.workflow.getHandle(at.workflowId).query(anchorState);
    const waitingFor = state?.waiting_for ?? [];
    demand(waitingFor.includes('consent'), `The workflow waits for ${waitingFor.join(', ') || 'nothing'}.`);
    tell('waits for', waitingFor.join(', '));
    tell('Temporal', workflow(at.workflowId));
  });
  await telling.step('The consent is signed: the date becomes final', async (tell) => {
    await coordinator.expect(201, 'POST', at.consents, {
      status: 'signed',
      signed_at: `${addDays(enrollmentDate, -1)}T09:30:00Z`,
      consent_version_id: 'v1',
      purpose: 'study',
    });
    const anchor = await eventually('A finalized anchor', async () => {
      const now = await coordinator.get<Anchor>(at.anchor);
      return now.status === 'finalized' ? now : undefined;
    });
    demand(anchor.enrollment_date === enrollmentDate, `The final date is ${anchor.enrollment_date}.`);
    tell('anchor', `${anchor.enrollment_date}, ${anchor.status}, version ${anchor.version}`);
    tell('see', `${run.api}${at.anchor}`);
  });
  const baseline = await telling.step(
    'The baseline visit takes place: the assessment was taken off line and is synced now',
    async (tell) => {
      const { visits } = await scheduleOf(stage, at.schedule, 1);
      const visit = visits.find(({ target_date }) => target_date === enrollmentDate);
      demand(visit, 'No visit is planned on the enrollment date.');
      const sessionId = await syncAssessment(stage, participantId, visit.id, enrollmentDate);
      const completed = await coordinator.get<ScheduledVisit>(`/api/visits/${visit.id}`);
      demand(completed.status === 'completed', `The visit is ${completed.status}.`);
      tell('visit', `${completed.target_date}  ${completed.name}, ${completed.status}`);
      tell('see', `${run.api}/api/visits/${visit.id}`);
      tell('see', `${run.api}/api/sessions/${sessionId}`);
      return { ...completed, sessionId };
    },
  );
  return { participantId, enrollmentDate, baseline, client };
}

/** The current schedule, which must be of this version. */
export async function scheduleOf(stage: Stage, path: string, version: number): Promise<Schedule> {
  const schedule = await stage.coordinator.get<Schedule>(path);
  demand(
    schedule.schedule_version?.version_number === version,
    `The current schedule version is ${schedule.schedule_version?.version_number ?? 'none'}, not ${version}.`,
  );
  return schedule;
}

async function arriveOthers(tell: Tell, stage: Stage, capture: CaptureSystem): Promise<void> {
  for (const record of [RECORDS.leadingZeros, RECORDS.sameNumber, RECORDS.withoutDate]) {
    await save(capture, record);
    const [event] = await processed(stage, record, 1);
    demand(
      event?.status === 'processed' && event.participant_id,
      `The trigger of "${record}" ended as ${event?.status} (${event?.error}).`,
    );
    const anchor = await stage.coordinator.get<Anchor>(addressesOf(stage, event.participant_id).anchor);
    const held = capture.enrollmentDate(record);
    const wanted = record === RECORDS.withoutDate ? null : held;
    demand(anchor.enrollment_date === wanted, `The anchor of "${record}" is ${anchor.enrollment_date}, not ${wanted}.`);
    tell(
      `"${record}"`,
      wanted === null
        ? `the form says "${held}" for the date: anchor ${anchor.status}, planned from today`
        : `anchor ${anchor.enrollment_date}, ${anchor.status}`,
    );
  }
  const { items } = await stage.coordinator.get<List<Participant>>(`/api/studies/${stage.study.id}/participants`);
  demand(
    new Set(items.map(({ external_id }) => external_id)).size === 4 && items.length === 4,
    `There are ${items.length} participants, not four.`,
  );
  tell('see', `${stage.place.run.api}/api/studies/${stage.study.id}/participants`);
}

/** A tablet's sync when it is online again: a finished session of the visit, with its tasks' results. */
async function syncAssessment(stage: Stage, participantId: string, visitId: string, date: string): Promise<string> {
  const local = randomUUID();
  const response = (task: string, summary: Record<string, number>) => ({
    id: randomUUID(),
    sessionId: local,
    task,
    summary,
    trials: [],
  });
  const { results } = await stage.coordinator.expect<{
    results: { status: string; server_id: string; message?: string }[];
  }>(200, 'POST', '/api/sync/bulk', {
    sessions: [
      {
        id: local,
        participantId,
        studyId: stage.study.id,
        visitId,
        status: 'completed',
        startedAt: `${date}T09:40:00Z`,
        completedAt: `${date}T10:15:00Z`,
        language: 'de',
        syncStatus: 'pending',
        syncAttempts: 0,
      },
    ],
    responses: [
      response('reaction_time', { mean_rt: 342.18181, median_rt: 331, accuracy: 0.96875, total_trials: 64 }),
      response('n_back', { mean_rt: 512.4444, accuracy: 0.8, total_trials: 40 }),
    ],
  });
  const refused = results.find(({ status }) => status !== 'created');
  demand(refused === undefined, `The offline session was not taken: ${refused?.message ?? refused?.status}.`);
  return results[0]!.server_id;
}

async function save(capture: CaptureSystem, record: string, values: Record<string, string> = {}): Promise<void> {
  const status = await capture.saveEnrollment(record, values);
  demand(status === 200, `The trigger of "${record}" was answered with ${status ?? 'nothing'}, not with 200.`);
}

/** The triggers of a record, newest first, once there are enough and none is in progress. */
function processed(stage: Stage, record: string, count: number): Promise<WebhookEvent[]> {
  return eventually(`Processing ${count === 1 ? 'the trigger' : `${count} triggers`} of "${record}"`, async () => {
    const { items } = await stage.coordinator.get<List<WebhookEvent>>(
      `/api/studies/${stage.study.id}/webhook-events?record=${encodeURIComponent(record)}`,
    );
    return items.length >= count && items.every(({ status }) => ['processed', 'duplicate', 'failed'].includes(status))
      ? items
      : undefined;
  });
}
