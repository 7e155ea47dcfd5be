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

/** The API's resident memory, in MB. */
export const apiMb = (stage: Stage): number => residentMb(stage.service.current().pids.api!);

/** How far the API's resident memory rises while `work` runs above what it was at first, in MB. */
export async function growth(stage: Stage, work: () => Promise<unknown>, idle = apiMb(stage)): Promise<number> {
  let most = apiMb(stage);
  const look = setInterval(() => {
    most = Math.max(most, apiMb(stage));
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(look);
  }
  return Math.max(0, most - idle);
}
