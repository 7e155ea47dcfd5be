/** The bare API: Koa and pg with nothing else: the listing, the trigger, a submission, and bytes that are there. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import jwt from 'jsonwebtoken';
import Koa from 'koa';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
// The same readings of dates and instants, so that both write the same JSON.
import '../../../db/client/knex.js';
import { answer } from '../child.js';

const { BARE_DATABASE_URL, BARE_SECRET, BARE_BYTES_FILE, BARE_TOKEN_SECRET = '' } = process.env;
if (!BARE_DATABASE_URL || !BARE_SECRET)
  throw new Error('the bare API is started by the bench, which tells it where the database is');

const pool = new pg.Pool({ connectionString: BARE_DATABASE_URL, max: 20, options: '-c timezone=UTC' });
const LIST = `
select (select count(*) from participants p where p.study_id = $1) as total,
  p.id, p.study_id, p.participant_code, p.external_id, p.site_id, s.site_code, p.preferred_language, p.status, p.enrollment_date,
  p.email, p.phone, p.timezone, p.date_of_birth, p.arm, p.withdrawn_at, p.withdrawal_reason, p.reinstated_at, p.created_at, p.updated_at
from (select p.* from participants p where p.study_id = $1 order by p.created_at asc nulls last, p.id asc offset $2 limit $3) p
left join sites s on s.id = p.site_id
order by p.created_at asc nulls last, p.id asc`;
const RIGHT = `select u.role, u.status, b.version from users u join batteries b on b.id = $2 where u.id = $1`;
const INSERT = `insert into bench.events (project_id, record, instrument, event_name, raw_body) values ($1, $2, $3, $4, $5)`;

const COPY = 'copy bench.trials (session_id, task, trial_index, rt, correct, at) from stdin with (format csv)';
const bytes = BARE_BYTES_FILE === undefined ? undefined : readFileSync(BARE_BYTES_FILE);

interface Trial {
  task: string;
  trial_index: number;
  rt: number;
  correct: boolean;
  timestamp: string;
}
async function copyTrials({ session_id, raw_trials }: { session_id: string; raw_trials: Trial[] }): Promise<void> {
  const client = await pool.connect();
  try {
    const text = raw_trials
      .map((t) => `${session_id},${t.task},${t.trial_index},${t.rt},${t.correct},${t.timestamp}\n`)
      .join('');
    await pipeline(Readable.from([text]), client.query(copyFrom(COPY)));
  } finally {
    client.release();
  }
}

const app = new Koa();
app.use(async (ctx) => {
  if (ctx.path === '/participants') {
    const { study_id, skip, limit } = ctx.query;
    const { rows } = await pool.query(LIST, [study_id, Number(skip), Number(limit)]);
    ctx.body = {
      items: rows.map(({ total: _total, ...row }: Record<string, unknown>) => row),
      total: rows[0]?.total ?? 0,
    };
    return;
  }
  if (ctx.path.endsWith('/compile')) {
    const { sub } = jwt.verify(ctx.get('authorization').slice('Bearer '.length), BARE_TOKEN_SECRET) as { sub: string };
    const { rows } = await pool.query({ name: 'right', text: RIGHT, values: [sub, ctx.path.split('/')[3]] });
    if (rows[0]?.status !== 'active') {
      ctx.status = 401;
      return;
    }
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = bytes;
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) chunks.push(chunk);
  const raw = Buffer.concat(chunks);
  if (ctx.path === '/api/submit') {
    const sent = JSON.parse(raw.toString('utf8')) as { session_id: string; raw_trials: Trial[] };
    await copyTrials(sent);
    ctx.body = { session_id: sent.session_id, status: 'accepted' };
    return;
  }
  const given = Buffer.from(ctx.get('x-datacapture-signature').slice('sha256='.length), 'hex');
  const own = createHmac('sha256', BARE_SECRET).update(raw).digest();
  if (given.length !== own.length || !timingSafeEqual(given, own)) {
    ctx.status = 401;
    return;
  }
  const fields = new URLSearchParams(raw.toString('utf8'));
  await pool.query(INSERT, [
    fields.get('project_id'),
    fields.get('record'),
    fields.get('instrument'),
    fields.get('redcap_event_name'),
    raw,
  ]);
  ctx.body = { status: 'accepted', record: fields.get('record') };
});
const handler = app.callback();
const server = createServer((request, response) => {
  void handler(request, response);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('SIGTERM', () => process.exit(0));
answer({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, async () => undefined);
