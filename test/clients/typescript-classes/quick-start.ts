/** The ten steps of docs/api.md by the classes that @hey-api/openapi-ts makes of the contract, one for each tag. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from './api/client/index.js';
import { AnchorDate, Authentication, Consents, Events, Exports, Participants, Schedules, Sessions, Studies } from './api/sdk.gen.js';

interface Input {
  api: string;
  email: string;
  password: string;
  code: string;
  approver: { email: string; password: string };
}
const input = JSON.parse(process.argv[2] ?? '') as Input;
const as = (token?: string) => createClient({ baseUrl: input.api, ...(token !== undefined && { auth: token }) });
const throwOnError = true as const;

// 1. Log in. 2. With the second factor.
const anyone = as();
const { data: asked } = await Authentication.login({ client: anyone, throwOnError, body: { email: input.email, password: input.password } });
if (asked.outcome !== 'mfa_required') throw new Error('no second factor is asked for');
const { data: entered } = await Authentication.completeMfaLogin({ client: anyone, throwOnError, body: { mfa_token: asked.mfa_token, code: input.code } });
const client = as(entered.tokens.access_token);
const mine = { client, throwOnError };

// 3. A study whose overrides need an approval, with one visit.
const permissions = { can_override: ['researcher'], override_requires_approval: true, override_approver_roles: ['admin'] };
const { data: study } = await Studies.createStudy({ ...mine, body: { study_code: `HEY-${crypto.randomUUID()}`, study_name: 'Ten steps', config: { enrollment_date_policy: { permissions } } } });
await Schedules.createVisitWindow({ ...mine, body: { study_id: study.id, code: 'W4', name: 'Week 4', target_day: 28, window_before: 3, window_after: 7 } });

// 4. Events, each checked by its signature.
let secret = '';
const received = new Promise<string>((resolve) => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      const signed = `${String(request.headers['webhook-id'])}.${String(request.headers['webhook-timestamp'])}.${body}`;
      const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
      const given = String(request.headers['webhook-signature']).split(' ').map((one) => Buffer.from(one));
      const good = given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
      response.writeHead(good ? 204 : 401).end();
      if (!good) return;
      resolve((JSON.parse(body) as { type: string }).type);
      server.close();
    });
  });
  server.listen(0, '127.0.0.1', () => void subscribe((server.address() as AddressInfo).port));
});
async function subscribe(port: number): Promise<void> {
  const { data } = await Events.createEventSubscription({ ...mine, path: { study_id: study.id }, body: { url: `http://127.0.0.1:${port}/`, events: ['ENROLLMENT_DATE_OVERRIDE_GRANTED'] } });
  secret = data.secret;
}

// 5. A participant and its consent.
const { data: participant } = await Participants.createParticipant({ ...mine, path: { study_id: study.id }, body: { participant_code: 'P-001' } });
const path = { study_id: study.id, participant_id: participant.id };
const { data: consent } = await Consents.createConsent({ ...mine, path, body: { status: 'signed', signed_at: '2026-01-12T09:00:00Z' } });

// 6. The anchor date. 7. The schedule.
let { data: anchor } = await AnchorDate.getAnchorDate({ ...mine, path });
while (anchor.status !== 'finalized') {
  await new Promise((resolve) => setTimeout(resolve, 100));
  ({ data: anchor } = await AnchorDate.getAnchorDate({ ...mine, path }));
}
const { data: schedule } = await Schedules.getSchedule({ ...mine, path });

// 8. Another date, with the approval of somebody else.
const { data: override } = await AnchorDate.overrideAnchorDate({ ...mine, path, body: { new_enrollment_date: '2026-01-14', reason: 'two days early' } });
if (override.status !== 'pending_approval') throw new Error('no approval is asked for');
const { data: approver } = await Authentication.login({ client: anyone, throwOnError, body: input.approver });
if (approver.outcome !== 'logged_in') throw new Error('the approver is not let in');
const { data: approved } = await AnchorDate.approveOverride({ client: as(approver.tokens.access_token), throwOnError, path: { ...path, override_request_id: override.override_request_id }, body: { reason: 'checked' } });

// 9. A session with trials.
const { data: session } = await Sessions.startSession({ ...mine, body: { participant_id: participant.id, language: 'en' } });
const own = { client: anyone, throwOnError, headers: { 'x-session-id': session.sessionId } };
const trial = (trial_index: number) => ({ task: 'stroop', trial_index, rt: 400.25, correct: true, timestamp: '2026-02-09T10:00:00Z' });
const { data: submitted } = await Sessions.submitResults({ ...own, body: { session_id: session.sessionId, task_summaries: { stroop: { accuracy: 1 } }, raw_trials: [trial(0), trial(1)] } });
const { data: ended } = await Sessions.endSession({ ...own, body: { session_id: session.sessionId } });

// 10. The trials as a file, and what is not there.
const { data: csv } = await Exports.exportCsv({ ...mine, parseAs: 'text', body: { study_id: study.id, dataset: 'raw_trials' } });
const missing = await Participants.getParticipant({ client, path: { participant_id: study.id } });

process.stdout.write(JSON.stringify({
  login: asked.mfa_required,
  consent: consent.status,
  anchor: anchor.enrollment_date,
  due: schedule.visits.map((visit) => visit.target_date),
  override: [override.status, approved.status, approved.anchor.enrollment_date],
  session: [submitted.status, submitted.trials, ended.status],
  exported: String(csv).split('\n').filter((line) => line.includes('400.25')).length,
  event: await received,
  missing: [missing.response?.status, missing.error?.code],
}));
