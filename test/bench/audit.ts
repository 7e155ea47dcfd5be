import { createHash, randomUUID } from 'node:crypto';
import { recordBytes, recordsAfter } from '../../db/audit/audit-records.js';
import { verifyChain } from '../../db/audit/audit-verify.js';
import { openDatabase } from '../../db/client/knex.js';
import { migrate } from '../../db/migrate.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { median } from './figure.js';
import type { Figure } from './figure.js';
import type { Stage } from './stage.js';
import type { Database } from '../../db/client/database.js';

const CHUNK = 5_000,
  WRITERS = 8,
  SECONDS = 3,
  STUDY = '00000000-0000-4000-8000-00000000000a';

/**
 * P8: a chain of so many records verified, compared with hashing the same bytes that are in memory already; and records
 * appended by eight writers at once, a transaction each, compared with plain inserts of the same rows into a table
 * alike. In a database of its own on the service's server.
 */
export async function auditFigures(stage: Stage, rounds: number, rows: number): Promise<Figure[]> {
  const name = `bench_audit_${Date.now()}`;
  await stage.sql.query(`create database ${name}`);
  const url = new URL(stage.service.run.database_url);
  url.pathname = `/${name}`;
  await migrate(url.toString());
  const database = openDatabase({ url: url.toString(), name: 'bench-audit', poolMax: WRITERS });
  const owner = openDatabase({ url: url.toString(), name: 'bench-audit-owner', poolMax: WRITERS, asOwner: true });
  try {
    await fill(database, rows);
    // As autovacuum leaves a table that has grown over weeks.
    await owner.raw('vacuum analyze audit_log');
    return [
      await verifying(database, Math.min(rounds, 3), rows),
      await appending(database, owner, rounds, 'P8_APPEND', () => randomUUID()),
      await appending(database, owner, rounds, 'P8_APPEND_ONE', () => STUDY),
    ];
  } finally {
    await Promise.all([database.destroy(), owner.destroy()]);
    await stage.sql.query(`drop database ${name} with (force)`);
  }
}

const entry = (study: string, i: number) => ({
  study_id: study,
  user_id: STUDY,
  action: 'participant_updated',
  resource_type: 'participant',
  resource_id: randomUUID(),
  metadata: { fields: ['preferred_language', 'site_id'], version: i % 7, reason: 'corrected after the visit' },
  request_id: randomUUID(),
});

async function fill(database: Database, rows: number): Promise<void> {
  for (let at = 0; at < rows; at += CHUNK) {
    await withStudyScope(database, '*', async ({ audit }) => {
      for (let i = at; i < Math.min(rows, at + CHUNK); i += 1) audit.record(entry(STUDY, i));
    });
  }
}

async function verifying(database: Database, rounds: number, rows: number): Promise<Figure> {
  const texts: string[] = [];
  await readInScope(database, '*', async (tx) => {
    for await (const batch of recordsAfter(tx, STUDY, 0)) for (const row of batch) texts.push(recordBytes(row));
  });
  const verify = async (): Promise<number> => {
    const began = performance.now();
    const report = await readInScope(database, '*', (tx) => verifyChain(tx, STUDY));
    if (!report.valid || report.rows !== rows) throw new Error(`the chain was not verified: ${JSON.stringify(report)}`);
    return (performance.now() - began) / 1000;
  };
  const hash = (): number => {
    const began = performance.now();
    let last = '';
    for (const text of texts) last = createHash('sha256').update(text).digest('hex');
    if (last.length !== 64) throw new Error('nothing was hashed');
    return (performance.now() - began) / 1000;
  };
  await verify();
  hash();
  const pairs: { ours: number; baseline: number }[] = [];
  for (let round = 0; round < rounds; round += 1) pairs.push({ ours: await verify(), baseline: hash() });
  return {
    name: 'P8',
    what: `${rows.toLocaleString('en')} audit records verified, against hashing the same bytes`,
    ratio: median(pairs.map((p) => p.ours / p.baseline)),
    goal: { is: '<=', value: 3 },
    ours: median(pairs.map((p) => p.ours)),
    baseline: median(pairs.map((p) => p.baseline)),
    unit: 's',
  };
}

/** Transactions a second by eight writers. */
async function writing(one: (writer: number, i: number) => Promise<unknown>): Promise<number> {
  const until = performance.now() + SECONDS * 1000;
  let done = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let i = 0; performance.now() < until; i += 1) {
        await one(writer, i);
        done += 1;
      }
    }),
  );
  return done / SECONDS;
}

async function appending(
  database: Database,
  owner: Database,
  rounds: number,
  name: string,
  study: (writer: number) => string,
): Promise<Figure> {
  const studies = Array.from({ length: WRITERS }, (_, writer) => study(writer));
  await owner.raw(
    'drop table if exists plain_log; create table plain_log (like audit_log including defaults including indexes); grant insert on plain_log to research_app',
  );
  let seq = 0;
  const ours = () =>
    writing((writer, i) =>
      withStudyScope(database, '*', async ({ audit }) => audit.record(entry(studies[writer]!, i))),
    );
  const plain = () =>
    writing((writer, i) =>
      withStudyScope(database, '*', async ({ tx }) => {
        const { metadata, ...row } = entry(studies[writer]!, i);
        seq += 1;
        const hash = seq.toString(16).padStart(64, '0');
        await tx('plain_log').insert({
          ...row,
          audit_metadata: JSON.stringify(metadata),
          seq,
          chain: row.study_id,
          created_at: new Date().toISOString(),
          prev_hash: hash,
          hash,
          hash_version: 1,
        });
      }),
    );
  await Promise.all([ours(), plain()]);
  const pairs: { ours: number; baseline: number }[] = [];
  for (let round = 0; round < rounds; round += 1)
    pairs.push(
      round % 2 === 0
        ? { ours: await ours(), baseline: await plain() }
        : { baseline: await plain(), ours: await ours() },
    );
  return {
    name,
    what: `audit records appended by ${WRITERS} writers, ${name === 'P8_APPEND' ? 'each to a study’s chain' : 'all to one chain'}, against plain inserts`,
    ratio: median(pairs.map((p) => p.ours / p.baseline)),
    goal: { is: '>=', value: 0.7 },
    ours: median(pairs.map((p) => p.ours)),
    baseline: median(pairs.map((p) => p.baseline)),
    unit: 'records/s',
  };
}
