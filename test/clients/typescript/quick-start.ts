/**
 * The ten steps of docs/api.md by openapi-fetch and the types that openapi-typescript makes of the contract. The test
 * generates `contract.d.ts` beside it and compiles the two as somebody else's program would be.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import createClient from 'openapi-fetch';
import type { paths } from './contract.js';

interface Input {
  api: string;
  email: string;
  password: string;
  code: string;
  approver: { email: string; password: string };
}
const input = JSON.parse(process.argv[2] ?? '') as Input;
const baseUrl = input.api;
const pause = () => new Promise((resolve) => setTimeout(resolve, 100));

/** What was answered. @throws Error with the service's own words */
function answered<T>({ data, error, response }: { data?: T; error?: { detail: string }; response: Response }): T {
  if (data === undefined) throw new Error(`${response.url} answered ${response.status}: ${error?.detail ?? 'nothing'}`);
  return data;
}
const as = (token: string) => createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

// 1. Log in. 2. With the second factor.
const anyone = createClient<paths>({ baseUrl });
const asked = answered(await anyone.POST('/api/auth/login', { body: { email: input.email, password: input.password } }));
if (asked.outcome !== 'mfa_required') throw new Error('no second factor is asked for');
const entered = answered(await anyone.POST('/api/auth/mfa/login', { body: { mfa_token: asked.mfa_token, code: input.code } }));
const client = as(entered.tokens.access_token);

// 3. A study whose overrides need an approval, with one visit.
const permissions = { can_override: ['researcher'], override_requires_approval: true, override_approver_roles: ['admin'] };
const study = answered(await client.POST('/api/studies', { params: { header: { 'Idempotency-Key': crypto.randomUUID() } }, body: { study_code: `TS-${crypto.randomUUID()}`, study_name: 'Ten steps', config: { enrollment_date_policy: { permissions } } } }));
const of = { study_id: study.id };
answered(await client.POST('/api/schedules/windows', { body: { ...of, code: 'W4', name: 'Week 4', target_day: 28, window_before: 3, window_after: 7 } }));

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
  const subscription = answered(await client.POST('/api/studies/{study_id}/event-subscriptions', { params: { path: of }, body: { url: `http://127.0.0.1:${port}/`, events: ['ENROLLMENT_DATE_OVERRIDE_GRANTED'] } }));
  secret = subscription.secret;
}

// 5. A participant and its consent.
const participant = answered(await client.POST('/api/studies/{study_id}/participants', { params: { path: of }, body: { participant_code: 'P-001' } }));
const path = { ...of, participant_id: participant.id };
const consent = answered(await client.POST('/api/studies/{study_id}/participants/{participant_id}/consents', { params: { path }, body: { status: 'signed', signed_at: '2026-01-12T09:00:00Z' } }));

// 6. The anchor date. 7. The schedule.
const anchorPath = '/api/studies/{study_id}/participants/{participant_id}/anchor-date';
let anchor = answered(await client.GET(anchorPath, { params: { path } }));
for (; anchor.status !== 'finalized'; anchor = answered(await client.GET(anchorPath, { params: { path } }))) await pause();
const schedule = answered(await client.GET('/api/studies/{study_id}/participants/{participant_id}/schedule', { params: { path } }));

// 8. Another date, with the approval of somebody else.
const override = answered(await client.POST(`${anchorPath}/override`, { params: { path }, body: { new_enrollment_date: '2026-01-14', reason: 'two days early' } }));
if (override.status !== 'pending_approval') throw new Error('no approval is asked for');
const approver = answered(await anyone.POST('/api/auth/login', { body: input.approver }));
if (approver.outcome !== 'logged_in') throw new Error('the approver is not let in');
const approved = answered(await as(approver.tokens.access_token).POST(`${anchorPath}/override-requests/{override_request_id}/approve`, { params: { path: { ...path, override_request_id: override.override_request_id } }, body: { reason: 'checked' } }));

// 9. A session with trials.
const session = answered(await client.POST('/api/session/start', { body: { participant_id: participant.id, language: 'en' } }));
const header = { 'x-session-id': session.sessionId };
const trial = (trial_index: number) => ({ task: 'stroop', trial_index, rt: 400.25, correct: true, timestamp: '2026-02-09T10:00:00Z' });
const submitted = answered(await anyone.POST('/api/submit', { params: { header }, body: { session_id: session.sessionId, task_summaries: { stroop: { accuracy: 1 } }, raw_trials: [trial(0), trial(1)] } }));
const ended = answered(await anyone.POST('/api/session/end', { params: { header }, body: { session_id: session.sessionId } }));

// 10. The trials as a file, and what is not there.
const csv = answered(await client.POST('/api/exports/csv', { body: { ...of, dataset: 'raw_trials' }, parseAs: 'text' }));
const missing = await client.GET('/api/participants/{participant_id}', { params: { path: { participant_id: study.id } } });

process.stdout.write(JSON.stringify({
  login: asked.mfa_required,
  consent: consent.status,
  anchor: anchor.enrollment_date,
  due: schedule.visits.map((visit) => visit.target_date),
  override: [override.status, approved.status, approved.anchor.enrollment_date],
  session: [submitted.status, submitted.trials, ended.status],
  exported: String(csv).split('\n').filter((line) => line.includes('400.25')).length,
  event: await received,
  missing: [missing.response.status, missing.error?.code],
}));
