import { Client, Connection } from '@temporalio/client';
import { createVisitActivities } from '../../activities/scheduling/scheduling.activities.js';
import { openDatabase } from '../../db/client/knex.js';
import { scheduleIds } from '../../workflows/contract.js';
import { median, ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import { asOwner, timed } from './measuring.js';
import { compared, inPairs } from './pairs.js';
import { enrollInBulk, studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';
import { readingSealed } from '../support/temporal.js';
import type { Database } from '../../db/client/database.js';

const PARTICIPANTS = 1_000,
  EACH = 100,
  VISITS = PARTICIPANTS * EACH,
  LOCK_MS = 200;

/**
 * STATUS_JOB: the hourly job opens 100,000 visits, in batches, each a transaction with its audit record; compared with
 * one UPDATE of the same rows, whose triggers (what is known as of an instant, reminders) are the table's. A batch's
 * locks are held no longer than from the end of the batch, or of the look for more, before it to its own.
 */
export async function visitStatusFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const studyId = await studyWithWindows(stage, 0);
  await enrollInBulk(stage, studyId, PARTICIPANTS);
  await asOwner(stage, (client) =>
    client.query(
      `insert into scheduled_visits (visit_key, study_id, participant_id, name, target_date, window_open, window_close)
     select gen_random_uuid(), $1, p.id, 'Visit ' || n, current_date + 20, current_date - 2, current_date + 40 from participants p, generate_series(1, $2::integer) n where p.study_id = $1`,
      [studyId, EACH],
    ),
  );
  const database = openDatabase({ url: stage.service.run.database_url, name: 'bench-visits', poolMax: 2 });
  const held: number[] = [];
  try {
    await pauseSchedule(stage);
    const pairs = await inPairs(
      rounds,
      async () => {
        await reset(stage, studyId);
        const { took, longest } = await job(database);
        held.push(longest);
        return took;
      },
      async () => {
        await reset(stage, studyId);
        return timed(VISITS, () =>
          asOwner(stage, (client) =>
            client.query(`update scheduled_visits set status = 'open' where study_id = $1`, [studyId]),
          ),
        );
      },
    );
    return [
      {
        name: 'STATUS_JOB',
        what: `${VISITS} visits opened by the hourly job; one UPDATE of the same rows`,
        ...compared(pairs, (m) => m.p50),
        goal: { is: '<=', value: 2 },
        unit: 'ms',
      },
      ofLimit(
        'STATUS_JOB_LOCK',
        median(held.slice(1)),
        LOCK_MS,
        'ms',
        'the longest time between the ends of two of its batches: no lock is held longer',
      ),
    ];
  } finally {
    await database.destroy();
  }
}

async function job(database: Database) {
  let last = performance.now(),
    longest = 0;
  const { moveDueVisits } = createVisitActivities({
    database,
    heartbeat: () => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    },
  });
  const took = await timed(VISITS, async () => {
    const { opened } = await moveDueVisits();
    if (opened !== VISITS) throw new Error(`${opened} visits were opened of ${VISITS}`);
  });
  return { took, longest };
}

/** All of them are to be opened again; what was left behind by the round before is cleared away. */
async function reset(stage: Stage, studyId: string): Promise<void> {
  await asOwner(stage, (client) =>
    client.query(`update scheduled_visits set status = 'scheduled' where study_id = $1 and status = 'open'`, [studyId]),
  );
  await stage.sql.query('vacuum analyze scheduled_visits, visit_states');
  await stage.sql.query('checkpoint');
  await stage.quiet();
}

/** The service's own run, each full hour, would take visits away from the one that is measured. */
async function pauseSchedule({ service }: Stage): Promise<void> {
  const connection = await Connection.connect({ address: service.run.temporal });
  try {
    await new Client({ connection, namespace: service.run.temporal_namespace, ...readingSealed(service.run) }).schedule
      .getHandle(scheduleIds.visitStatuses)
      .pause('the bench runs it by itself');
  } finally {
    await connection.close();
  }
}
