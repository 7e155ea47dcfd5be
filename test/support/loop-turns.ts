import { once } from 'node:events';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './environment.js';
import { usualMs } from './processor-speed.js';
import { temporaryFolder } from './service.js';

/** Processor time of a process's main thread while something went on, in milliseconds. */
export interface Turns {
  /** Of the longest turn of its event loop: nobody else was answered meanwhile. */
  longest: number;
  total: number;
  turns: number;
}

/** The settings with which a process tells about its event loop, and where. */
export function countingTurns(): { settings: Record<string, string>; folder: string } {
  // In the system's own folder: a socket's path is limited to about 100 characters.
  const folder = temporaryFolder('turns-', tmpdir());
  return {
    folder,
    settings: { NODE_OPTIONS: `--import=${join(root, 'test', 'support', 'loop-turns.mjs')}`, LOOP_TURNS: folder },
  };
}

/** What the event loop of a process of these settings does while `work` goes on. */
export async function turnsDuring(folder: string, pid: number, work: () => Promise<unknown>): Promise<Turns> {
  const socket = createConnection(join(folder, `${pid}.sock`)).setEncoding('utf8');
  await once(socket, 'data');
  let text = '';
  socket.on('data', (piece: string) => {
    text += piece;
  });
  try {
    await work();
  } finally {
    socket.write('enough');
    await once(socket, 'close');
  }
  return JSON.parse(text) as Turns;
}

/** What a process does beside it comes and goes: so often it may be tried. */
const TRIES = 6;

/**
 * The longest turn while `work` goes on, in milliseconds of a usual processor, at the least of some tries; they end with
 * the first that is below `enough`. `again` prepares the next one.
 */
export async function longestTurn(
  folder: string,
  pid: number,
  work: () => Promise<unknown>,
  enough: number,
  again: () => unknown = () => undefined,
): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < TRIES && least > enough; i += 1) {
    if (i > 0) await again();
    const { longest, total } = await turnsDuring(folder, pid, work);
    if (process.env.SHOW_COSTS) console.log(longest.toFixed(1), total.toFixed(1));
    // A slow processor takes longer, never shorter: what is below needs no comparison.
    least = Math.min(least, longest < enough ? longest : usualMs(longest));
  }
  return least;
}
