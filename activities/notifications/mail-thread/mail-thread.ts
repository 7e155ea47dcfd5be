import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../db/client/start-thread.js';
import { RefusedMessage } from '../provider.js';
import type { Message } from '../provider.js';
import { Gathered } from './protocol.js';
import type { SendAnswer, SendFault, MailWorkerData, SendRequest } from './protocol.js';

/** It holds a few mails at a time; a thread that needs more has a bug, and must not take the worker down. */
const MEMORY_MB = 64;

interface Waiting {
  resolve: () => void;
  reject: (fault: Error) => void;
}

/** The mail thread, as seen by its callers. */
export class MailWorker {
  /** Whether it accepts mails: it has started, and is not ending. */
  ready = false;
  private last = 0;
  private ending = false;
  private readonly waiting = new Map<number, Waiting>();
  private readonly worker: Worker;
  private readonly orders = new Gathered<SendRequest>((all) => {
    this.worker.postMessage(all);
  });

  /** @param onLost called once, when it ends unexpectedly */
  constructor(data: MailWorkerData, onLost: (fault: unknown) => void) {
    this.worker = startThread('./thread', import.meta.url, {
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    // It does not keep a finished process alive.
    this.worker.unref();
    this.worker.on('message', (answers: SendAnswer[]) => {
      for (const answer of answers) this.hear(answer);
    });
    let fault: unknown;
    this.worker.on('error', (error) => {
      fault = error;
    });
    this.worker.on('exit', (code) => {
      this.ready = false;
      if (!this.ending) onLost(fault ?? new Error(`the thread ended with code ${code}`));
      for (const { reject } of this.waiting.values()) reject(lost());
      this.waiting.clear();
    });
  }

  get busy(): number {
    return this.waiting.size;
  }

  /** @throws the mailer's error; a retryable error if the thread ends before it answers */
  send(message: Message): Promise<void> {
    const n = ++this.last;
    return new Promise<void>((resolve, reject) => {
      this.waiting.set(n, { resolve, reject });
      this.orders.add({ n, message });
    });
  }

  /** Ends it, after its running mails. */
  end(): void {
    this.ready = false;
    this.ending = true;
    if (this.busy === 0) void this.worker.terminate();
  }

  private hear(answer: SendAnswer): void {
    if (answer === 'ready') {
      this.ready = !this.ending;
      return;
    }
    const one = this.waiting.get(answer.n);
    this.waiting.delete(answer.n);
    if (answer.fault) one?.reject(asError(answer.fault));
    else one?.resolve();
    if (this.ending) this.end();
  }
}

const asError = (fault: SendFault): Error =>
  fault.kind === 'refused'
    ? new RefusedMessage(fault.message, fault.addressIsGone)
    : Object.assign(new Error(fault.message), { code: fault.code });
/**
 * Whether the mail server has the mail is unknown: it is sent again under the same Message-ID, as after any lost
 * answer.
 */
const lost = (): Error =>
  Object.assign(new Error('The thread that was sending the mail has ended.'), { code: 'MAIL_THREAD_LOST' });
