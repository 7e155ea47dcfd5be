import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { reminderMessage } from '../../activities/notifications/reminders/message.js';
import type { SweepReport } from '../../activities/notifications/reminders/reminders.activities.js';
import { openDatabase } from '../../db/client/knex.js';
import { reminderById } from '../../db/notifications/reminders.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import type { BossOrder, BossRun } from './bare/boss.js';
import { startChild } from './child.js';
import type { Child } from './child.js';
import type { Figure } from './figure.js';
import type { Measured } from './load.js';
import { compared, inPairs } from './pairs.js';
import type { Caught } from './smtp-sink.js';
import type { Stage } from './stage.js';

/** A claim of the worker that is killed is over after so long; its rows wait until then. */
const LEASE_SECONDS = 10;
const program = (name: string) => `${name}.js`;
type Sweeper = Child<'sweep', SweepReport>;
type Sink = Child<'count' | 'clear', Caught> & { ready: { url: string } };

/**
 * P7: due reminders are claimed, judged, written in the participant's words with a calendar file, sent over SMTP and
 * noted, each with its audit record; compared with pg-boss that sends as many mails of the same words, written
 * beforehand. P7_EXACT: two workers, of which one is killed half-way.
 */
export async function reminderFigures(stage: Stage, rounds: number, rows: number): Promise<Figure[]> {
  const sink = await startChild<'count' | 'clear', Caught, { url: string }>(program('smtp-sink'), process.env);
  const env = {
    ...process.env,
    BARE_DATABASE_URL: stage.service.run.database_url,
    BARE_SMTP_URL: sink.ready.url,
    BARE_LEASE_SECONDS: String(LEASE_SECONDS),
  };
  const sweeper = () => startChild<'sweep', SweepReport, object>(program('sweeper'), env);
  const [ours, boss] = [
    await sweeper(),
    await startChild<BossOrder | BossRun, null, object>(program('bare/boss'), env),
  ];
  try {
    const study = await dueStudy(stage);
    // The warm-up is a portion, too.
    const portion = Math.ceil(rows / (rounds + 1));
    const pairs = await inPairs(
      rounds,
      async () => {
        await makeDue(stage, study, portion);
        return timed(stage, sink, portion, () => ours.ask('sweep'));
      },
      async () => {
        const message = await sampleMessage(stage, study);
        for (let left = portion; left > 0; left -= 5_000) {
          await boss.ask({
            kind: 'fill',
            messages: Array.from({ length: Math.min(left, 5_000) }, () => ({
              ...message,
              id: randomUUID(),
              // The Message-ID is made of it.
              key: randomUUID(),
              to: `${randomUUID()}@example.org`,
            })),
          });
        }
        return timed(stage, sink, portion, () => boss.ask({ kind: 'run', count: portion }));
      },
    );
    return [
      {
        name: 'P7',
        what: `${(portion * rounds).toLocaleString('en')} due reminders swept to an SMTP sink, against pg-boss sending as many mails of the same words`,
        ...compared(pairs, (m) => m.perSecond),
        goal: { is: '>=', value: 1 },
        unit: 'mails/s',
      },
      await exactlyOnce(stage, sink, study, rows, sweeper, ours),
    ];
  } finally {
    await Promise.all([ours, boss, sink].map((child) => child.stop()));
  }
}

/** @throws when the sink has not exactly as many */
async function timed(stage: Stage, sink: Sink, count: number, work: () => Promise<unknown>): Promise<Measured> {
  await stage.quiet();
  await sink.ask('clear');
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const caught = await sink.ask('count');
  if (caught.mails !== count || caught.shown !== count || caught.doubled > 0)
    throw new Error(`of ${count} mails the sink has ${JSON.stringify(caught)}`);
  return { count, perSecond: count / (ms / 1_000), p50: ms, p99: ms };
}

async function exactlyOnce(
  stage: Stage,
  sink: Sink,
  study: string,
  rows: number,
  sweeper: () => Promise<Sweeper>,
  lives: Sweeper,
): Promise<Figure> {
  await makeDue(stage, study, rows);
  await sink.ask('clear');
  const dies = await sweeper();
  const killed = (async () => {
    while ((await sink.ask('count')).mails < rows / 2) await sleep(20);
    process.kill(dies.pid, 'SIGKILL');
  })();
  const sweeps = async () => {
    // What the dead one had claimed is due again when its lease is over.
    for (let left = rows; left > 0; left = await unsent(stage, study)) {
      await lives.ask('sweep');
      await sleep(250);
    }
  };
  await Promise.all([
    dies.ask('sweep').then(
      () => {
        throw new Error('the worker was to be killed half-way and was done');
      },
      () => undefined,
    ),
    killed,
    sweeps(),
  ]);
  const { mails, shown, doubled } = await sink.ask('count');
  const once = shown - 2 * doubled;
  return {
    name: 'P7_EXACT',
    what: `${rows.toLocaleString('en')} due reminders, two workers, one killed half-way: those that a mailbox shows exactly once (${mails - shown} came twice under one Message-ID)`,
    ratio: once / rows,
    goal: { is: '>=', value: 1 },
    ours: once,
    baseline: rows,
    unit: 'mails',
  };
}

async function unsent(stage: Stage, study: string): Promise<number> {
  return (
    await stage.sql.query<{ left: number }>(
      `select count(*)::integer as left from notifications where study_id = $1 and status = 'pending'`,
      [study],
    )
  ).rows[0]!.left;
}

/** A study in whose zone it is noon, its reminders due a few minutes ago for visits of tomorrow. */
export async function dueStudy(stage: Stage): Promise<string> {
  const shift = 12 - new Date().getUTCHours();
  const timezone = shift === 0 ? 'UTC' : `Etc/GMT${shift > 0 ? '-' : '+'}${Math.abs(shift)}`;
  const send_at = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' }).format(
    Date.now() - 10 * 60_000,
  );
  const { id } = await stage.call<{ id: string }>('POST', '/api/studies', {
    study_code: `BENCH-${randomUUID().slice(0, 8)}`,
    study_name: 'Bench',
    timezone,
    config: { notifications: { send_at } },
  });
  return id;
}

/** New participants with a visit tomorrow each: the database itself plans their reminders. */
export async function makeDue(stage: Stage, study: string, count: number): Promise<void> {
  const run = randomUUID().slice(0, 8);
  await stage.sql.query(
    `with s as (select id, (now() at time zone timezone)::date + 1 as day from studies where id = $1),
     p as (insert into participants (study_id, participant_code, email, preferred_language, created_at)
       select s.id, $3 || '-' || n, $3 || '-' || n || '@example.org', (array['en', 'de'])[1 + n % 2], now() + interval '1 day' from s, generate_series(1, $2::integer) n returning id, study_id)
     insert into scheduled_visits (visit_key, study_id, participant_id, name, target_date, window_open, window_close)
     select gen_random_uuid(), p.study_id, p.id, 'Week 4', s.day, s.day - 2, s.day + 2 from p, s`,
    [study, count, run],
  );
  await stage.sql.query('vacuum analyze participants, scheduled_visits, notifications');
  const made = await unsent(stage, study);
  if (made !== count) throw new Error(`${made} of ${count} reminders are due`);
}

/** A reminder's mail as the service writes it. */
async function sampleMessage(stage: Stage, study: string) {
  const {
    rows: [row],
  } = await stage.sql.query<{ id: string }>('select id from notifications where study_id = $1 limit 1', [study]);
  const database = openDatabase({ url: stage.service.run.database_url, name: 'bench-sample', poolMax: 1 });
  try {
    const reminder = await readInScope(database, '*', (tx) => reminderById(tx, row!.id));
    return reminderMessage(
      reminder!,
      { publicUrl: 'https://study.example.org', secret: 'a secret of the bench, long enough' },
      new Date().toISOString(),
    );
  } finally {
    await database.destroy();
  }
}
