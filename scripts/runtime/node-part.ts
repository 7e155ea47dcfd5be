import { spawn, type ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import type { PartName, PartPlan } from './part.js';

/**
 * A request leaves much behind that is dropped when it is answered. In a young generation of 32 MiB (16 by default) most
 * of that is gone before it is copied: a page of participants takes a tenth less of the processor, a trigger more.
 */
const NODE_OPTIONS = ['--enable-source-maps', '--max-semi-space-size=32'];

/**
 * A part that is a Node program of ours. It says `{ready: true}` over its channel when it serves; the channel's end
 * tells it that the supervisor is gone, so that it drains and goes as well.
 * @param inspect the port of its inspector; none without
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
    // Detached: Ctrl-C at the terminal reaches the supervisor alone, which orders the stop.
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
