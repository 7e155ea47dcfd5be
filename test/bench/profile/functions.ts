import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../support/until.js';

/** One function on the stack, with what it called: milliseconds of processor time. */
export interface Frame {
  name: string;
  /** Module of ours, or the package. */
  place: string;
  self: number;
  total: number;
  children: Frame[];
}

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

/** Where Node.js listens for a debugger that a signal asks for. */
const INSPECTOR = 'http://127.0.0.1:9229/json/list';
const INTERVAL_US = 250;

/**
 * The functions that a process of Node.js runs while `work` runs, sampled by the engine itself.
 * @throws Error when another process has the debugger's port
 */
export async function sampledFunctions(pid: number, work: () => Promise<void>): Promise<Frame> {
  process.kill(pid, 'SIGUSR1');
  const url = await until(
    async () => {
      const targets = (await (await fetch(INSPECTOR)).json()) as { webSocketDebuggerUrl: string; title: string }[];
      return targets[0]?.webSocketDebuggerUrl;
    },
    { timeout: 15_000, what: `process ${pid} to listen for a debugger` },
  );
  const socket = new WebSocket(url);
  await once(socket, 'open');
  let last = 0;
  const ask = async <T>(method: string, params: object = {}): Promise<T> => {
    const id = (last += 1);
    const answer = new Promise<T>((resolve, reject) => {
      const heard = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data)) as { id?: number; result?: T; error?: { message: string } };
        if (message.id !== id) return;
        socket.removeEventListener('message', heard);
        if (message.error) reject(new Error(`${method}: ${message.error.message}`));
        else resolve(message.result!);
      };
      socket.addEventListener('message', heard);
    });
    socket.send(JSON.stringify({ id, method, params }));
    return answer;
  };
  try {
    await ask('Profiler.enable');
    await ask('Profiler.setSamplingInterval', { interval: INTERVAL_US });
    await ask('Profiler.start');
    await work();
    await sleep(100);
    const { profile } = await ask<{ profile: Profile }>('Profiler.stop');
    return stackOf(profile);
  } finally {
    socket.close();
  }
}

function stackOf({ nodes, samples, timeDeltas }: Profile): Frame {
  const self = new Map<number, number>();
  samples.forEach((id, i) => self.set(id, (self.get(id) ?? 0) + timeDeltas[i]! / 1_000));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const frameOf = (id: number): Frame => {
    const { callFrame, children = [] } = byId.get(id)!;
    const isIdle = callFrame.functionName === '(idle)';
    const own = isIdle ? 0 : (self.get(id) ?? 0);
    const below = children.map(frameOf).filter(({ total }) => total > 0);
    return {
      name: callFrame.functionName || '(anonymous)',
      place: placeOf(callFrame.url),
      self: own,
      total: own + below.reduce((sum, { total }) => sum + total, 0),
      children: below,
    };
  };
  return frameOf(nodes[0]!.id);
}

const placeOf = (url: string): string =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
  /\/dist\/(.*)\.js$/.exec(url)?.[1] ??
  (url === '' ? 'engine' : url);

/** Time by place (module of ours, package, engine), most first. */
export function timeByPlace(root: Frame): [place: string, ms: number][] {
  const sums = new Map<string, number>();
  const add = (frame: Frame): void => {
    const place = frame.place.startsWith('node:') ? 'Node.js' : frame.place;
    sums.set(place, (sums.get(place) ?? 0) + frame.self);
    frame.children.forEach(add);
  };
  add(root);
  return [...sums].sort((a, b) => b[1] - a[1]);
}
