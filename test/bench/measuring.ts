import type pg from 'pg';
import type { Measured } from './load.js';
import { residentMb } from './memory.js';
import type { Stage } from './stage.js';

/** How long `work` on `count` things takes. */
export async function timed(count: number, work: () => Promise<unknown>): Promise<Measured> {
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  return { count, perSecond: count / (ms / 1000), p50: ms, p99: ms };
}

/** Works on a connection that sees every study. */
export async function asOwner<T>(stage: Stage, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await stage.sql.connect();
  try {
    await client.query(`select set_config('app.studies', '*', false)`);
    return await work(client);
  } finally {
    client.release();
  }
}

/** The API's resident memory while `work` runs, above what it was before, in MB. */
export async function growth(stage: Stage, work: () => Promise<unknown>): Promise<number> {
  const pid = stage.service.current().pids.api!;
  const before = residentMb(pid);
  let most = before;
  const look = setInterval(() => { most = Math.max(most, residentMb(pid)); }, 20);
  try {
    await work();
  } finally {
    clearInterval(look);
  }
  return Math.max(0, most - before);
}
