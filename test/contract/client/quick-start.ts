/**
 * The README's first session by a client that is generated from the contract. The test that runs it generates
 * `contract.d.ts` beside it and compiles the two as somebody else's program would be.
 */
import createClient from 'openapi-fetch';
import type { paths } from './contract.js';

const [baseUrl = '', email = '', password = ''] = process.argv.slice(2);

/** What was answered. @throws Error with the service's own words */
function answered<T>({ data, error, response }: { data?: T; error?: { detail: string }; response: Response }): T {
  if (data === undefined) throw new Error(`${response.url} answered ${response.status}: ${error?.detail ?? 'nothing'}`);
  return data;
}

const entered = answered(await createClient<paths>({ baseUrl }).POST('/api/auth/login', { body: { email, password } }));
if (!('tokens' in entered)) throw new Error('a second factor is asked for');
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${entered.tokens.access_token}` } });

const study = answered(await client.POST('/api/studies', { body: { study_code: `CLIENT-${process.pid}-${Date.now()}`, study_name: 'My first study', consent_mode: 'external' } }));
const of = { study_id: study.id };
answered(await client.POST('/api/schedules/windows', { body: { ...of, code: 'W4', name: 'Week 4', target_day: 28, window_before: 3, window_after: 7 } }));
const participant = answered(await client.POST('/api/studies/{study_id}/participants', { params: { path: of }, body: { participant_code: 'P-001' } }));
const path = { ...of, participant_id: participant.id };
const anchor = answered(await client.POST('/api/studies/{study_id}/participants/{participant_id}/anchor-date', { params: { path }, body: { enrollment_date: '2026-01-12', reason: 'first visit' } }));
const schedule = answered(await client.GET('/api/studies/{study_id}/participants/{participant_id}/schedule', { params: { path } }));
const history = answered(await client.GET('/api/studies/{study_id}/participants/{participant_id}/anchor-date/history', { params: { path } }));

const missing = await client.GET('/api/studies/{study_id}', { params: { path: { study_id: '00000000-0000-4000-8000-000000000000' } } });

process.stdout.write(JSON.stringify({
  status: anchor.status, due: schedule.visits.map((visit) => visit.target_date), events: history.map((entry) => entry.event_type), missing: [missing.response.status, missing.error?.code],
}));
