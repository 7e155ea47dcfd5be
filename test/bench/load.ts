/** The load generator: a process of its own that sends what it is told to and says how long it took. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, WithStartWorkflowOperation } from '@temporalio/client';
import autocannon from 'autocannon';
import { answer } from './child.js';
import { percentile } from './figure.js';

export interface HttpRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}
export interface Measured {
  count: number;
  perSecond: number;
  p50: number;
  p99: number;
  /** Of a paced or timed load: the milliseconds of each request. */
  took?: number[];
}

/** Requests over keep-alive connections, round and round, for some seconds: a stream. */
export interface Stream {
  kind: 'stream';
  url: string;
  connections: number;
  seconds: number;
  requests: HttpRequest[];
}
/** Each request once, so many at a time: a batch. */
export interface Batch {
  kind: 'batch';
  url: string;
  concurrency: number;
  requests: HttpRequest[];
}
/**
 * Requests that begin every so many milliseconds, whether those before have been answered or not: a reader who does not
 * wait.
 */
export interface Paced {
  kind: 'paced';
  url: string;
  everyMs: number;
  seconds: number;
  requests: HttpRequest[];
}
/** Requests that begin each at its own time, in milliseconds from the first's zero, and do not wait for each other. */
export interface Timed {
  kind: 'timed';
  url: string;
  /** Connections are used again: only where something is sent so often that the server closes none meanwhile. */
  keepAlive: boolean;
  requests: (HttpRequest & { startMs: number })[];
}
/**
 * The same for bare updates-with-start. `startFirst`: the workflows run already when the clock starts; `shown`: each
 * changes its workflow's search attributes.
 */
export interface Updates {
  kind: 'updates';
  address: string;
  namespace: string;
  taskQueue: string;
  concurrency: number;
  workflowIds: string[];
  body: string;
  startFirst: boolean;
  shown: boolean;
}
export type Load = Stream | Batch | Paced | Timed | Updates;

const WORKFLOW = 'bareUpdate';
const READY = 'updated';

async function stream({ url, connections, seconds, requests }: Stream): Promise<Measured> {
  let at = 0;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [{ setupRequest: (settings) => ({ ...settings, ...requests[at++ % requests.length]! }) }],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} answers were no success, ${result.errors} connections broke`);
  return {
    count: result['2xx'],
    perSecond: result['2xx'] / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}

/** Runs `work` for every item, `concurrency` at a time. */
async function each<T>(items: readonly T[], concurrency: number, work: (item: T) => Promise<void>): Promise<Measured> {
  const took: number[] = [];
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < items.length) {
        const item = items[next++]!;
        const start = performance.now();
        await work(item);
        took.push(performance.now() - start);
      }
    }),
  );
  return {
    count: items.length,
    perSecond: items.length / ((performance.now() - began) / 1000),
    p50: percentile(took, 0.5),
    p99: percentile(took, 0.99),
  };
}

async function batch({ url, concurrency, requests }: Batch): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  try {
    return await each(requests, concurrency, (one) => send(url, one, agent));
  } finally {
    agent.destroy();
  }
}

async function paced({ url, everyMs, seconds, requests }: Paced): Promise<Measured> {
  const count = Math.ceil((seconds * 1000) / everyMs);
  return timed({
    kind: 'timed',
    url,
    keepAlive: true,
    requests: Array.from({ length: count }, (_, i) => ({ ...requests[i % requests.length]!, startMs: i * everyMs })),
  });
}

async function timed({ url, keepAlive, requests }: Timed): Promise<Measured> {
  const agent = new Agent({ keepAlive });
  try {
    const began = performance.now();
    const took = await Promise.all(
      requests.map(async ({ startMs, ...wanted }) => {
        await sleep(startMs);
        const start = performance.now();
        await send(url, wanted, agent);
        return performance.now() - start;
      }),
    );
    return {
      count: took.length,
      perSecond: took.length / ((performance.now() - began) / 1000),
      p50: percentile(took, 0.5),
      p99: percentile(took, 0.99),
      took,
    };
  } finally {
    agent.destroy();
  }
}

function send(url: string, { method, path, headers, body }: HttpRequest, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}${path}`,
      {
        method,
        agent,
        headers: { ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve();
          else
            reject(
              new Error(`${method} ${path} answered ${status}: ${Buffer.concat(chunks).toString().slice(0, 300)}`),
            );
        });
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

let opened: Promise<Connection> | undefined;

async function updates({
  address,
  namespace,
  taskQueue,
  concurrency,
  workflowIds,
  body,
  startFirst,
  shown,
}: Updates): Promise<Measured> {
  const client = new Client({ connection: await (opened ??= Connection.connect({ address })), namespace });
  // Waits until each has done its first task, as the participants' workflows have.
  if (startFirst)
    await each(workflowIds, 16, async (workflowId) => {
      const handle = await client.workflow.start(WORKFLOW, { workflowId, taskQueue });
      await handle.query('ready');
    });
  return each(workflowIds, concurrency, async (workflowId) => {
    await client.workflow.executeUpdateWithStart(READY, {
      args: [{ id: randomUUID(), body, shown }],
      startWorkflowOperation: new WithStartWorkflowOperation(WORKFLOW, {
        workflowId,
        taskQueue,
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
  });
}

answer<Load, Measured>({}, (load) => {
  switch (load.kind) {
    case 'stream':
      return stream(load);
    case 'batch':
      return batch(load);
    case 'paced':
      return paced(load);
    case 'timed':
      return timed(load);
    case 'updates':
      return updates(load);
  }
});
