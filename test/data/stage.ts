import type pg from 'pg';
import type { Answer, Http } from '../support/http.js';
import { until } from '../support/until.js';

export interface RowNote {
  row: number;
  participant_code: string;
  external_id: string | null;
  site_code: string | null;
}
export interface ImportAnswer {
  success: boolean;
  dry_run: boolean;
  total_rows: number;
  imported_count: number;
  skipped_count: number;
  error_count: number;
  updated_count: number;
  errors: { row: number; field: string | null; code: string; message: string; others?: { code: string }[] }[];
  imported_participants: RowNote[];
  skipped_participants: (RowNote & { reason: string })[];
  updated_participants: (RowNote & { fields: string[] })[];
  created_sites: string[];
  warnings: { code: string }[];
  file: Record<string, string>;
  code: string;
  detail: string;
}

/** A form with the part `file`, as browsers and curl send it. */
export async function formOf(content: string | Uint8Array, fields: Record<string, string> = {}, part = 'file') {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set(part, new Blob([content as never]), 'file.bin');
  const response = new Response(form);
  return { type: response.headers.get('content-type')!, content: new Uint8Array(await response.arrayBuffer()) };
}

export async function sendFile(
  http: Http,
  studyId: string,
  content: string | Uint8Array,
  query = '',
  format: 'csv' | 'excel' = 'csv',
): Promise<Answer<ImportAnswer>> {
  return http.post<ImportAnswer>(`/api/studies/${studyId}/participants/import/${format}${query}`, undefined, {
    raw: await formOf(content),
  });
}

/** An import that must be answered with a result. */
export async function imported(
  http: Http,
  studyId: string,
  content: string | Uint8Array,
  query = '',
  format: 'csv' | 'excel' = 'csv',
): Promise<ImportAnswer> {
  const answer = await sendFile(http, studyId, content, query, format);
  if (answer.status !== 200) throw new Error(`the import answered ${answer.status}: ${answer.text.slice(0, 400)}`);
  return answer.body;
}

/**
 * Nobody starts the workflows of a study's participants any more: thousands of starts are of no use to the tests that
 * follow. The sweep for lost workflows takes anyone who is enrolled.
 */
export async function neverStarted(database: pg.Client, studyId: string): Promise<void> {
  await database.query(
    `update participants set status = 'withdrawn', withdrawn_at = now(), withdrawal_reason = 'the test is over' where study_id = $1 and status = 'enrolled'`,
    [studyId],
  );
  await database.query('delete from outbox where study_id = $1', [studyId]);
}

/**
 * The workflows of a study's participants are started before those that other tests have left waiting: starts that give
 * way go out at the service's own pace, one after the other.
 * @throws with what is still waiting when they are not
 */
export async function started(database: pg.Client, studyId: string): Promise<void> {
  await database.query(
    `update outbox set available_at = least(available_at, 'epoch') where study_id = $1 and patient and attempts = 0`,
    [studyId],
  );
  await until(
    async () => {
      const { rows } = await database.query<{ ours: boolean }>(
        'select study_id = $1 as ours, topic, patient, attempts, last_error, count(*)::integer as waiting from outbox group by 1, 2, 3, 4, 5',
        [studyId],
      );
      if (rows.some(({ ours }) => ours)) throw new Error(`there wait ${JSON.stringify(rows)}`);
      return true;
    },
    { timeout: 60_000, what: 'the workflows to be started' },
  );
}
