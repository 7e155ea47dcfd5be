import { reservePorts } from '../../scripts/runtime/ports.js';
import { StartError } from '../../scripts/runtime/start-error.js';

/**
 * Below those that services choose for themselves (`auto`), and below those of outgoing connections. Each process of
 * tests has some to itself: between its choice and its use nobody else takes one.
 */
const FROM = 10_000;
const OF_A_PROCESS = 24;
const PROCESSES = 400;

const first = FROM + (process.pid % PROCESSES) * OF_A_PROCESS;
let turn = 0;

/** A port that nobody listens on, and that nobody else is given until many others were. */
export async function freePort(): Promise<number> {
  for (let left = OF_A_PROCESS; left > 0; left -= 1) {
    const port = first + (turn++ % OF_A_PROCESS);
    try {
      const { free } = await reservePorts('127.0.0.1', { free: port });
      await free.release();
      return port;
    } catch (fault) {
      // Something else listens there.
      if (!(fault instanceof StartError)) throw fault;
    }
  }
  throw new Error(`no port from ${first} to ${first + OF_A_PROCESS - 1} is free`);
}

/** A free port for each name. */
export async function freePorts<Name extends string>(names: readonly Name[]): Promise<Record<Name, number>> {
  const ports: Partial<Record<Name, number>> = {};
  for (const name of names) ports[name] = await freePort();
  return ports as Record<Name, number>;
}
