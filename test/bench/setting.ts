import { randomUUID } from 'node:crypto';
import type { Stage } from './stage.js';

/** A study that finalizes a date at once: consent is not managed here. With so many visit windows, a month apart. */
export async function studyWithWindows(stage: Stage, windows: number): Promise<string> {
  const study = await stage.call<{ id: string }>('POST', '/api/studies', {
    study_code: `BENCH-${randomUUID().slice(0, 8)}`,
    study_name: 'Bench',
    consent_mode: 'external',
    start_date: '2020-01-01',
    timezone: 'Europe/Berlin',
  });
  for (let i = 0; i < windows; i += 1) {
    await stage.call('POST', '/api/schedules/windows', {
      study_id: study.id,
      code: `W${i}`,
      name: `Visit ${i}`,
      target_day: i * 30,
      window_before: 3,
      window_after: 7,
      is_baseline: i === 0,
      sort_order: i,
    });
  }
  return study.id;
}

/** Participants as enrolling them leaves them, without a message to Temporal: their workflows do not run. */
export async function enrollInBulk(stage: Stage, studyId: string, count: number): Promise<string[]> {
  const { rows } = await stage.sql.query<{ id: string }>(
    `with enrolled as (
       insert into participants (study_id, participant_code, external_id, preferred_language, email, phone, timezone, date_of_birth)
       select $1, 'P-' || lpad(n::text, 5, '0') || '-' || substr(gen_random_uuid()::text, 1, 8), gen_random_uuid()::text, 'en', 'person' || n || '@example.org', '+49 30 ' || n, 'Europe/Berlin', date '1960-01-01' + n
       from generate_series(1, $2::integer) n returning id, study_id
     ), anchors as (
       insert into anchor_dates (participant_id, study_id) select id, study_id from enrolled
     ) select id from enrolled`,
    [studyId, count],
  );
  return rows.map(({ id }) => id);
}

const PASSWORD = 'a password of the bench 42';

/** The headers of a coordinator of one study: a user who is no admin needs more lookups. */
export async function coordinatorOf(stage: Stage, studyId: string): Promise<Record<string, string>> {
  const email = `${randomUUID()}@example.org`;
  await stage.call('POST', '/api/auth/register', {
    email,
    name: 'A coordinator',
    password: PASSWORD,
    role: 'coordinator',
    study_ids: [studyId],
  });
  const { tokens } = await stage.call<{ tokens: { access_token: string } }>('POST', '/api/auth/login', {
    email,
    password: PASSWORD,
  });
  return { authorization: `Bearer ${tokens.access_token}` };
}
