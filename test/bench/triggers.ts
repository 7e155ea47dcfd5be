import { createHmac, randomInt, randomUUID } from 'node:crypto';
import { startSimulator } from '../capture-simulator/server.js';
import type { Simulator } from '../capture-simulator/server.js';
import { startChild } from './child.js';
import type { Figure } from './figure.js';
import type { HttpRequest, Stream } from './load.js';
import { compared, inPairs } from './pairs.js';
import type { Stage } from './stage.js';

const CONNECTIONS = 64, SECONDS = 3, RECORDS = 5_000;
const EVENT = 'baseline_arm_1';

/**
 * P3: a signed trigger is accepted, its event committed with the message that starts its processing; held against bare
 * Koa with an HMAC and one INSERT. The worker works off what comes in meanwhile: it reads records of a capture system
 * and enrolls their participants.
 */
export async function triggerFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const simulator = await startSimulator({ port: 0, projects: [] });
  const secret = `s-${randomUUID()}`;
  const bare = await startChild<object, object, { url: string }>(import.meta.url.endsWith('.ts') ? 'bare/api.ts' : 'bare/api.js', {
    ...process.env, BARE_DATABASE_URL: stage.service.run.database_url, BARE_SECRET: secret,
  });
  try {
    const projectId = await connectedStudy(stage, simulator, secret);
    const requests = Array.from({ length: RECORDS }, (_, i) => trigger(projectId, recordId(i), secret));
    const ours: Stream = { kind: 'stream', url: stage.service.run.api, connections: CONNECTIONS, seconds: SECONDS, requests };
    const pairs = await inPairs(rounds, async () => {
      await workedOff(stage);
      const before = await kept(stage, projectId);
      const measured = await stage.load.ask(ours);
      const inTable = await kept(stage, projectId) - before;
      if (inTable < measured.count) throw new Error(`${measured.count} triggers were accepted, ${inTable} are in the table`);
      return measured;
    }, async () => {
      await workedOff(stage);
      return stage.load.ask({ ...ours, url: bare.ready.url });
    });
    await workedOff(stage);
    return [
      { name: 'P3', what: 'a signed trigger accepted and committed, 64 connections', ...compared(pairs, (m) => m.perSecond), goal: { is: '>=', value: 0.7 }, unit: 'triggers/s' },
    ];
  } finally {
    await bare.stop();
    await simulator.stop();
  }
}

const recordId = (i: number) => `B-${String(i).padStart(5, '0')}`;

/** Signed beforehand: the load generator has its hands free. */
function trigger(projectId: string, record: string, secret: string): HttpRequest {
  const body = new URLSearchParams({ project_id: projectId, instrument: 'enroll', record, redcap_event_name: EVENT, enroll_complete: '2' }).toString();
  return {
    method: 'POST', path: '/api/webhooks/datacapture/det', body,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-datacapture-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
  };
}

/** A study with a capture system that knows every record. @returns its project's id */
async function connectedStudy(stage: Stage, simulator: Simulator, secret: string): Promise<string> {
  const projectId = randomInt(100_000, 2_000_000_000);
  const token = randomUUID().replaceAll('-', '').toUpperCase();
  simulator.control.addProject({
    project: {
      project_id: projectId, title: 'Bench', arms: [{ arm_num: 1, name: 'Arm 1' }],
      events: [{ event_name: 'Baseline', day_offset: 0, offset_min: 0, offset_max: 7, forms: ['enroll'] }],
      instruments: [{ name: 'enroll', label: 'Enrollment' }], users: [{ username: 'api', token }],
    },
    dictionary: 'field_name,form_name,field_type,field_label,text_validation_type_or_show_slider_number\nsubject_id,enroll,text,Subject,\nenrolled,enroll,text,Enrolled,date_ymd',
    data: ['subject_id,redcap_event_name,enrolled,enroll_complete', ...Array.from({ length: RECORDS }, (_, i) => `${recordId(i)},${EVENT},2026-01-05,2`)].join('\n'),
  });
  const study = await stage.call<{ id: string }>('POST', '/api/studies', {
    study_code: `BENCH-${randomUUID().slice(0, 8)}`, study_name: 'Bench', datacapture_enabled: true, integration_mode: 'datacapture', consent_mode: 'external', start_date: '2020-01-01',
  });
  await stage.call('PATCH', `/api/datacapture/config/${study.id}`, {
    api_url: simulator.apiUrl, api_token: token, webhook_secret: secret, webhook_enabled: true, enrollment_instrument: 'enroll', enrollment_event: EVENT,
    participant_field_mapping: { enrollment_date: 'enrolled' }, event_battery_mapping: { [EVENT]: { battery_id: 1, target_day: 0 } },
  });
  await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
  return String(projectId);
}

async function kept(stage: Stage, projectId: string): Promise<number> {
  const { rows } = await stage.sql.query<{ kept: number }>('select count(*)::integer as kept from webhook_events where project_id = $1', [projectId]);
  return rows[0]!.kept;
}

/**
 * A round leaves thousands of triggers behind, minutes of work. What has not been begun is taken back, what has been
 * is finished, so that the next side of a pair starts on an idle machine.
 */
async function workedOff(stage: Stage): Promise<void> {
  await stage.sql.query(`delete from outbox where topic = 'trigger'`);
  await stage.quiet();
}
