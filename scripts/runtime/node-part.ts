import { spawn, type ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import type { PartName, PartPlan } from './part.js';
import type { Reservation } from './ports.js';

/**
 * A request creates much garbage. With a young generation of 32 MiB (16 by default) most of it is collected before it
 * is copied: a page of participants takes a tenth less processor time, a trigger more.
 */
export const NODE_OPTIONS = ['--enable-source-maps', '--max-semi-space-size=32'];

/** Behind standard input, output, error and the channel. */
const FIRST_GIVEN = 4;

/** `inspect`: the port of its inspector. `listens`: its reserved ports, by their settings. */
interface NodePartOptions {
  inspect?: number | undefined;
  listens?: Record<string, Reservation | undefined>;
}

/**
 * A part that is one of our Node programs. It sends `{ready: true}` over its channel when it serves; when the channel
 * closes, the supervisor is gone, and it drains and ends as well. At its first start it is given the sockets of its
 * ports: another program could take a port that is released before the part listens.
 */
export function nodePart(
  name: PartName,
  program: string,
  env: NodeJS.ProcessEnv,
  log: string,
  { inspect, listens = {} }: NodePartOptions = {},
): PartPlan {
  const debugged = inspect === undefined ? [] : [`--inspect=127.0.0.1:${inspect}`];
  return {
    name,
    log,
    // Detached: Ctrl-C at the terminal only reaches the supervisor, which orders the stop.
    spawn: (output) => {
      const held = Object.entries(listens).flatMap(([port, reservation]) => {
        const descriptor = reservation?.descriptor?.();
        return descriptor === undefined ? [] : [{ port, descriptor }];
      });
      const given = held.map(({ port }, index) => `--on=${port}:${FIRST_GIVEN + index}`);
      const child = spawn(process.execPath, [...NODE_OPTIONS, ...debugged, program, ...given], {
        env,
        detached: true,
        stdio: ['ignore', output, output, 'ipc', ...held.map(({ descriptor }) => descriptor)],
      });
      // The child has its own descriptors; a restart opens the ports by their addresses.
      for (const reservation of Object.values(listens)) void reservation?.release();
      return child;
    },
    ready: saysReady,
    readyWithinSeconds: 60,
    stopSignal: 'SIGTERM',
    graceSeconds: 10,
  };
}

async function saysReady(child: ChildProcess, cancelled: AbortSignal): Promise<void> {
  for await (const [message] of on(child, 'message', { signal: cancelled })) {
    if (typeof message === 'object' && message !== null && 'ready' in message && message.ready === true) return;
  }
}
