import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './environment.js';

/** Processor time of a process's main thread while something went on, in milliseconds. */
export interface Turns {
  /** Of the longest turn of its event loop: nobody else was answered meanwhile. */
  longest: number;
  total: number;
  turns: number;
}

/** The settings with which a process tells about its event loop, and where. */
export function countingTurns(): { settings: Record<string, string>; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'turns-'));
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
