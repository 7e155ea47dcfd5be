import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSimulator } from '../capture-simulator/server.js';
import { connectedStudy, recordId, trigger } from './capture-study.js';
import { ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import { residentMb } from './memory.js';
import type { Stage } from './stage.js';

const PER_SECOND = 20,
  SECONDS = 30,
  BURST = 2_000,
  AT_ONCE = 64,
  LONGEST_MS = 10 * 60_000;

/**
 * From an accepted trigger to its participant with schedule: at 20 triggers a second, each for a new participant, and
 * for 2,000 that come at once, of which none may be lost.
 */
export async function processingFigures(stage: Stage): Promise<Figure[]> {
  const simulator = await startSimulator({ port: 0, projects: [] });
  const secret = `s-${randomUUID()}`;
  const send = async (projectId: string, i: number) => {
    const { path, body, headers } = trigger(projectId, recordId(i), secret);
    const response = await fetch(`${stage.service.run.api}${path}`, { method: 'POST', body: body!, headers: headers! });
    if (response.status !== 200) throw new Error(`a trigger was answered with ${response.status}`);
    await response.arrayBuffer();
  };
  try {
    const steady = await connectedStudy(stage, simulator, secret, PER_SECOND * SECONDS);
    await stage.quiet();
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: PER_SECOND * SECONDS }, async (_, i) => {
        await sleep(i * (1_000 / PER_SECOND) - (performance.now() - begun));
        await send(steady.projectId, i);
      }),
    );
    await processed(stage, steady.id, PER_SECOND * SECONDS);
    const { rows } = await stage.sql.query<{ p95: number }>(
      `select percentile_cont(0.95) within group (order by extract(epoch from processed_at - received_at))::float8 as p95 from webhook_events where study_id = $1`,
      [steady.id],
    );

    const burst = await connectedStudy(stage, simulator, secret, BURST);
    await stage.quiet();
    const { worker: pid } = stage.service.current().pids;
    const worker = () => residentMb(pid!);
    const before = worker();
    let highest = before;
    const watch = setInterval(() => {
      highest = Math.max(highest, worker());
    }, 250);
    try {
      let next = 0;
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (next < BURST) await send(burst.projectId, next++);
        }),
      );
      await processed(stage, burst.id, BURST);
    } finally {
      clearInterval(watch);
    }
    return [
      ofLimit(
        'P3_P95',
        rows[0]!.p95,
        1,
        's',
        'from an accepted trigger to the participant with schedule, 20 triggers a second, slowest of twenty',
      ),
      ofLimit(
        'P3_MEMORY',
        highest,
        before + 200,
        'MB',
        'resident memory of the worker over a burst of 2,000 triggers, all of them worked off',
      ),
    ];
  } finally {
    await simulator.stop();
  }
}

/**
 * Waits until so many triggers of a study have made their participant with a schedule. @throws when one failed or is
 * missing
 */
async function processed(stage: Stage, studyId: string, count: number): Promise<void> {
  const deadline = performance.now() + LONGEST_MS;
  for (;;) {
    const { rows } = await stage.sql.query<{ open: number; planned: number }>(
      `select (select count(*) from webhook_events where study_id = $1 and status in ('received', 'processing'))::integer as open,
              (select count(*) from schedule_versions where study_id = $1 and is_current)::integer as planned`,
      [studyId],
    );
    if (rows[0]!.open === 0) {
      if (rows[0]!.planned !== count)
        throw new Error(
          `of ${count} triggers ${rows[0]!.planned} have made a participant with a schedule; otherwise ended: ${await others(stage, studyId)}`,
        );
      return;
    }
    if (performance.now() > deadline) throw new Error(`${rows[0]!.open} of ${count} triggers are still open`);
    await sleep(250);
  }
}

async function others(stage: Stage, studyId: string): Promise<string> {
  const { rows } = await stage.sql.query<{ what: string }>(
    `select count(*) || ' ' || status || ' ' || coalesce(error, outcome, '') as what from webhook_events where study_id = $1 group by status, coalesce(error, outcome, '') order by count(*) desc limit 5`,
    [studyId],
  );
  return rows.map(({ what }) => what).join('; ');
}
