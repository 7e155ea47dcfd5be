import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { TRIAL_ROWS } from '../../db/assessment/trials.queries.js';
import { participantsBook } from '../data/workbooks.js';
import { median, ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import type { Measured } from './load.js';
import { apiMb, asOwner, growth, timed } from './measuring.js';
import { compared, inPairs } from './pairs.js';
import { studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';

const PARTICIPANTS = 10_000,
  MANY = 100_000;
const CHUNK = 1_000;
const EXTRA_MB = 150;
/** So much more may one of many take than one of few and still be called the same. */
const MOST_GROWTH = 1.25;
/** No figure of the contract: it is told, and held to what would be felt. */
const MOST_AGAINST_CSV = 2;

/**
 * P4: 10,000 participants from a CSV file, each with its anchor, its audit record in the chain and the start of its
 * workflow; compared with a COPY of the same rows and the same number of audit records, in one transaction.
 */
export async function importFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const lines = linesOf(PARTICIPANTS);
  const csv = fileOf(lines);
  const entries = JSON.stringify(
    lines.map(() => ({
      user_id: stage.adminId,
      action: 'participant_created',
      resource_type: 'participant',
      resource_id: randomUUID(),
      metadata: canonicalJson({ fields: ['external_id', 'participant_code', 'preferred_language'] }),
      request_id: null,
    })),
  );
  const ours = () => imported(stage, csv, PARTICIPANTS);
  const theirs = async (): Promise<Measured> => {
    const studyId = await studyWithWindows(stage, 0);
    return timed(PARTICIPANTS, () =>
      asOwner(stage, async (client) => {
        await client.query('begin');
        await pipeline(
          Readable.from([
            lines
              .map((line) => {
                const [code, external, , language] = line.split(',');
                return `${studyId},${code!},${external!},${language!}\n`;
              })
              .join(''),
          ]),
          client.query(
            copyFrom(
              'copy participants (study_id, participant_code, external_id, preferred_language) from stdin with (format csv)',
            ),
          ),
        );
        await client.query('select audit_append($1, $2::jsonb)', [studyId, entries]);
        await client.query('commit');
      }),
    );
  };
  const idle = apiMb(stage);
  const grown = await growth(stage, ours, idle);
  const pairs = await inPairs(
    rounds,
    async () => {
      await stage.quiet();
      return ours();
    },
    async () => {
      await stage.quiet();
      return theirs();
    },
  );
  const each = { few: median(pairs.map(({ ours: { p50 } }) => p50)) / PARTICIPANTS, many: 0 };
  const many = fileOf(linesOf(MANY));
  await stage.quiet();
  const grownByMany = await growth(
    stage,
    async () => {
      each.many = (await imported(stage, many, MANY)).p50 / MANY;
    },
    idle,
  );
  return [
    {
      name: 'P4',
      what: `import of ${PARTICIPANTS} participants from CSV`,
      ...compared(pairs, (m) => m.p50),
      goal: { is: '<=', value: 6 },
      unit: 'ms',
    },
    {
      name: 'P4_EACH',
      what: `the same, time for each of ${MANY.toLocaleString('en')} against each of ${PARTICIPANTS.toLocaleString('en')}`,
      ratio: each.many / each.few,
      goal: { is: '<=', value: MOST_GROWTH },
      ours: each.many,
      baseline: each.few,
      unit: 'ms',
    },
    ofLimit(
      'P4_MEM',
      Math.max(grown, grownByMany),
      EXTRA_MB,
      'MB',
      `what the API holds above idle while it imports ${PARTICIPANTS.toLocaleString('en')}, and ${MANY.toLocaleString('en')}`,
    ),
  ];
}

/**
 * P4_XLSX: 100,000 participants from a workbook, which is a third of the size that is taken, compared with the same
 * rows as CSV; before both the memory is as it is after the start, and the workbook comes first.
 */
export async function workbookFigures(stage: Stage): Promise<Figure[]> {
  const workbook = new Blob([await participantsBook(MANY)]);
  await stage.quiet();
  let ours = 0;
  const grown = await growth(stage, async () => {
    ours = (await imported(stage, workbook, MANY, 'excel')).p50;
  });
  await stage.quiet();
  const theirs = (await imported(stage, fileOf(linesOf(MANY)), MANY)).p50;
  return [
    {
      name: 'P4_XLSX',
      what: `import of ${MANY.toLocaleString('en')} participants from a workbook against the same from CSV`,
      ratio: ours / theirs,
      goal: { is: '<=', value: MOST_AGAINST_CSV },
      ours,
      baseline: theirs,
      unit: 'ms',
    },
    ofLimit(
      'P4_XLSX_MEM',
      grown,
      EXTRA_MB,
      'MB',
      `what the API holds above idle while it imports ${MANY.toLocaleString('en')} from a workbook`,
    ),
  ];
}

export const linesOf = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `P-${i},${randomUUID()},,en`);
export const fileOf = (lines: readonly string[]): Blob =>
  new Blob([`participant_code,external_id,site_code,preferred_language\n${lines.join('\n')}\n`]);

/** A file's import into a study of its own. */
export async function imported(
  stage: Stage,
  file: Blob,
  count: number,
  format: 'csv' | 'excel' = 'csv',
): Promise<Measured> {
  const studyId = await studyWithWindows(stage, 0);
  const form = new FormData();
  form.set('file', file, format === 'csv' ? 'participants.csv' : 'participants.xlsx');
  const { 'content-type': _type, ...headers } = stage.headers;
  const measured = await timed(count, async () => {
    const response = await fetch(`${stage.service.run.api}/api/studies/${studyId}/participants/import/${format}`, {
      method: 'POST',
      headers,
      body: form,
    });
    const result = (await response.json()) as { imported_count: number };
    if (result.imported_count !== count)
      throw new Error(`the import answered ${response.status}: ${JSON.stringify(result).slice(0, 300)}`);
  });
  // The workflows' starts give way to everything, and would still be going on in the next round.
  await stage.sql.query('delete from outbox where study_id = $1', [studyId]);
  return measured;
}

/**
 * P5: raw trials as CSV through the API, isolation, formulas and times included; compared with a COPY of the same rows
 * by a bare client.
 */
export async function exportFigures(stage: Stage, rounds: number, rows: number): Promise<Figure[]> {
  const { studyId, total } = await studyOfTrials(stage, rows);
  const first: number[] = [];
  const ours = () => exportedTrials(stage, studyId, total, first);
  const theirs = () =>
    timed(total, () =>
      asOwner(stage, async (client) => {
        let lines = 0;
        await pipeline(
          client.query(
            copyTo(`copy (select x.session_id, p.id, p.participant_code, null::text, s.visit_id, x.task, x.trial_index, x.rt, x.correct, x.at, x.data
      from (${TRIAL_ROWS}) x join assessment_sessions s on s.id = x.session_id join participants p on p.id = s.participant_id where x.study_id = '${studyId}') to stdout with (format csv)`),
          ),
          new Writable({
            write: (chunk: Buffer, _encoding, done) => {
              lines += linesIn(chunk);
              done();
            },
          }),
        );
        if (lines !== total) throw new Error(`${lines} lines came of ${total}`);
      }),
    );
  const grown = await growth(stage, ours);
  first.length = 0;
  const pairs = await inPairs(rounds, ours, theirs);
  return [
    {
      name: 'P5',
      what: `CSV export of ${total} raw trials`,
      ...compared(pairs, (m) => m.perSecond),
      goal: { is: '>=', value: 0.5 },
      unit: 'rows/s',
    },
    ofLimit('P5_FIRST', median(first), 200, 'ms', 'its first byte'),
    ofLimit('P5_MEM', grown, EXTRA_MB, 'MB', 'what the API holds above idle while it exports'),
  ];
}

/** A study with so many raw trials, rounded up to whole sessions. */
export async function studyOfTrials(stage: Stage, rows: number): Promise<{ studyId: string; total: number }> {
  const studyId = await studyWithWindows(stage, 0);
  await asOwner(stage, (client) => client.query(TRIALS, [studyId, Math.ceil(rows / CHUNK), CHUNK]));
  await stage.sql.query('vacuum analyze raw_trial_chunks, assessment_sessions, participants');
  return { studyId, total: Math.ceil(rows / CHUNK) * CHUNK };
}

/**
 * All raw trials of a study as CSV through the API, counted.
 * @param first gets the milliseconds until the first byte
 */
export const exportedTrials = (stage: Stage, studyId: string, total: number, first: number[] = []): Promise<Measured> =>
  timed(total, async () => {
    const began = performance.now();
    const response = await fetch(`${stage.service.run.api}/api/exports/csv`, {
      method: 'POST',
      headers: stage.headers,
      body: JSON.stringify({ study_id: studyId, dataset: 'raw_trials' }),
    });
    let lines = 0;
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      if (lines === 0) first.push(performance.now() - began);
      lines += linesIn(chunk);
    }
    if (lines !== total + 1) throw new Error(`${lines} lines came of ${total + 1}`);
  });

/** How many lines end in a piece of a file. */
export function linesIn(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  return lines;
}

const TRIALS = `
with person as (
  insert into participants (study_id, participant_code, created_at) select $1, 'P-' || n, now() + interval '1 day' from generate_series(1, 10) n returning id
), numbered as (select id, row_number() over () - 1 as n from person
), sessions as (
  insert into assessment_sessions (study_id, participant_id, status, completed_at, expires_at, started_at)
  select $1, p.id, 'completed', now(), now(), now() - g * interval '1 hour' from generate_series(1, $2::integer) g join numbered p on p.n = g % 10 returning id
)
insert into raw_trial_chunks (session_id, task, chunk, study_id, trials, trial_index, rt, correct, at)
select s.id, 'stroop', 0, $1, $3::integer, array(select generate_series(0, $3::integer - 1)), array(select 250 + random() * 500 from generate_series(1, $3::integer) where s.id is not null),
  array(select random() < 0.9 from generate_series(1, $3::integer) where s.id is not null), array(select date_trunc('milliseconds', now()) + i * interval '1 second' from generate_series(1, $3::integer) i)
from sessions s`;
