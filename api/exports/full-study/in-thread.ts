import { Writable } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../db/client/start-thread.js';
import type { Ask } from '../../../db/exports/full-study/load.js';
import { problem, problemOf } from '../../http/errors.js';
import { ConcurrencyLimiter } from '../../util/concurrency-limiter.js';
import type { ImportTarget, OpenedDocument, VerifyingKey } from './opened.js';
import type { FromThread, ThreadData, ThreadTask, ToThread } from './thread.js';

/** Each holds a document several times over. */
const CONCURRENCY = 2,
  MOST_WAITING = 4;
/** The largest document needs a tenth of it between two statements. */
const SILENT_MS = 60_000;
const MEMORY = { maxOldGenerationSizeMb: 1024 };
const turns = new ConcurrencyLimiter(CONCURRENCY);
let inLine = 0;

export interface Loaded {
  loaded: Record<string, number>;
  unknownBatteries: readonly number[];
}

/**
 * Runs `work` with a document that a separate thread reads, two at a time: the caller limits its length, and other
 * requests do not wait for it.
 * @throws 503 when too many wait, or when the thread was lost
 */
export async function withDocument<T>(
  options: { bytes: Buffer; named: ImportTarget; key: VerifyingKey; gone: AbortSignal },
  work: (document: DocumentThread) => Promise<T>,
): Promise<T> {
  if (inLine >= CONCURRENCY + MOST_WAITING)
    throw problem('UNAVAILABLE', {
      detail: 'Too many documents are being imported: try again.',
      headers: { 'Retry-After': '5' },
    });
  inLine += 1;
  try {
    return await turns.run(async () => {
      const document = new DocumentThread(options);
      try {
        return await work(document);
      } finally {
        await document.end();
      }
    });
  } finally {
    inLine -= 1;
  }
}

/** The thread of a full export. One task at a time. */
export class DocumentThread {
  private readonly thread: Worker;
  private readonly gone: AbortSignal;
  private fail: (fault: Error) => void = () => undefined;
  private succeed: (done: unknown) => void = () => undefined;
  private late: NodeJS.Timeout | undefined;
  private ask: Ask | undefined;
  private ended: Error | undefined;

  constructor({ bytes, named, key, gone }: Parameters<typeof withDocument>[0]) {
    const workerData: ThreadData = { bytes, named, key };
    this.gone = gone;
    this.thread = startThread('./thread', import.meta.url, { workerData, resourceLimits: MEMORY });
    this.thread.on('message', (message: FromThread) => {
      this.take(message);
    });
    this.thread.on('messageerror', (fault) => {
      this.lose(fault);
    });
    this.thread.on('error', (fault: Error) => {
      this.lose(fault);
    });
    this.thread.on('exit', (code) => {
      this.lose(new Error(`the thread ended with code ${code}`));
    });
    gone.addEventListener('abort', this.leave);
  }

  /** Reads the document. @throws as `openDocument` */
  open(): Promise<OpenedDocument> {
    return this.run({ task: 'open' }) as Promise<OpenedDocument>;
  }

  /** Loads it, with statements run by `ask`. @throws 400, 422, errors of `ask` */
  load(ask: Ask, task: Omit<Extract<ThreadTask, { task: 'load' }>, 'task'>): Promise<Loaded> {
    this.ask = ask;
    return this.run({ task: 'load', ...task }) as Promise<Loaded>;
  }

  /** A stream for the document exported from the loaded rows. */
  stored(): Writable {
    return new Writable({
      write: (piece: Buffer, _encoding, done) => {
        this.send({ piece });
        done();
      },
    });
  }

  /** SHA-256 of the stored content, independent of its ids. */
  contentHash(): Promise<string> {
    return this.run({ task: 'hash' }) as Promise<string>;
  }

  async end(): Promise<void> {
    clearTimeout(this.late);
    this.gone.removeEventListener('abort', this.leave);
    await this.thread.terminate();
  }

  private run(task: ThreadTask): Promise<unknown> {
    if (this.gone.aborted) this.leave();
    if (this.ended) return Promise.reject(this.ended);
    return new Promise((resolve, reject) => {
      this.succeed = resolve;
      this.fail = reject;
      this.send(task);
    });
  }

  private send(message: ToThread): void {
    this.thread.postMessage(message);
    clearTimeout(this.late);
    if (!('piece' in message))
      this.late = setTimeout(() => {
        this.fail(
          problem('FILE_UNREADABLE', { detail: `The document could not be read within ${SILENT_MS / 1000} seconds.` }),
        );
      }, SILENT_MS);
  }

  private take(message: FromThread): void {
    clearTimeout(this.late);
    if ('sql' in message)
      this.ask!(message.sql, message.values).then(
        (rows) => {
          this.send({ rows });
        },
        (fault: unknown) => {
          this.fail(fault as Error);
        },
      );
    else if ('done' in message) this.succeed(message.done);
    else if ('refused' in message) {
      const { refused, code, status, errors, cause } = message;
      this.fail(
        problemOf(status, code, refused, { ...(errors && { errors }), ...(cause && { cause: new Error(cause) }) }),
      );
    } else this.fail(new Error(`a document could not be loaded: ${message.fault}`));
  }

  private readonly leave = (): void => {
    this.stop(problem('BAD_REQUEST', { detail: 'The caller went away while the document was read.' }));
  };

  private lose(cause: Error): void {
    this.stop(
      problem('UNAVAILABLE', {
        detail: 'The document could not be read: the thread that was reading it ended.',
        cause,
      }),
    );
  }

  private stop(why: Error): void {
    this.ended ??= why;
    this.fail(this.ended);
  }
}
