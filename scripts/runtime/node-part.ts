import { spawn, type ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import type { PartName, PartPlan } from './part.js';

/**
 * A request creates much garbage. With a young generation of 32 MiB (16 by default) most of it is collected before it
 * is copied: a page of participants takes a tenth less processor time, a trigger more.
 */
export const NODE_OPTIONS = ['--max-semi-space-size=32'];

/**
 * A part that is one of our Node programs. It sends `{ready: true}` over its channel when it serves; when the channel
 * closes, the supervisor is gone, and it drains and ends as well.
 * @param inspect the port of its inspector; none by default
 */
export function nodePart(
  name: PartName,
  program: string,
  env: NodeJS.ProcessEnv,
  log: string,
  inspect?: number,
): PartPlan {
  const debugged = inspect === undefined ? [] : [`--inspect=127.0.0.1:${inspect}`];
  return {
    name,
    log,
    // Detached: Ctrl-C at the terminal only reaches the supervisor, which orders the stop.
    spawn: (output) =>
      spawn(process.execPath, [...NODE_OPTIONS, ...debugged, program], {
        env,
        detached: true,
        stdio: ['ignore', output, output, 'ipc'],
      }),
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
