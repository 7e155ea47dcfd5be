import type { Logger } from 'pino';
import type { Message, Provider } from '../provider.js';
import { MailWorker } from './mail-thread.js';

/** Two for each of its connections: what comes while it has so many is sooner sent by the worker itself. */
const BATCH_SIZE = 16;
const IDLE_MS = 60_000;
/** After the thread was lost, so long the worker sends by itself before another is begun. */
const AGAIN_MS = 10_000;

export interface BulkMailerDeps {
  /** SMTP_URL. */
  url: string;
  /** MAIL_FROM. */
  from: string;
  /** The worker's own mailer: it sends while there is no thread, and what is too much for it. */
  own: Provider;
  log: Pick<Logger, 'warn'>;
  idleMs?: number;
}

/**
 * The mailer for very many mails: most of a mail's cost is writing it (MIME, its streams), and most of that is done by
 * a thread, which begins with the first mail and ends when there was none for a minute. It knows nothing of the
 * database: what is claimed, judged and noted stays with the sweep, so that a thread that dies is no more than a mail
 * server whose answer was lost.
 */
export class BulkMailer implements Provider {
  private thread: MailWorker | undefined;
  private idle: NodeJS.Timeout | undefined;
  private notBefore = 0;
  private closed = false;

  constructor(private readonly deps: BulkMailerDeps) {}

  /** @throws as the mailer does */
  async send(message: Message): Promise<void> {
    const thread = this.begun();
    await (thread?.ready && thread.busy < BATCH_SIZE ? thread : this.deps.own).send(message);
  }

  /** Ends the thread, when what it was given is done. */
  close(): void {
    this.closed = true;
    this.rest();
  }

  private begun(): MailWorker | undefined {
    if (this.closed || performance.now() < this.notBefore) return this.thread;
    this.idle ??= setTimeout(() => {
      this.rest();
    }, this.deps.idleMs ?? IDLE_MS).unref();
    this.idle.refresh();
    return (this.thread ??= new MailWorker({ url: this.deps.url, from: this.deps.from }, (fault) => {
      this.thread = undefined;
      this.notBefore = performance.now() + AGAIN_MS;
      // Its code or name only: a fault inside a library may quote what it was given.
      this.deps.log.warn(
        { fault: codeOf(fault) },
        'the thread that sends mails has ended: its mails are tried again, the worker sends by itself meanwhile',
      );
    }));
  }

  private rest(): void {
    clearTimeout(this.idle);
    this.idle = undefined;
    this.thread?.end();
    this.thread = undefined;
  }
}

const codeOf = (fault: unknown): string => {
  const { code, name } = fault as { code?: unknown; name?: string };
  return typeof code === 'string' ? code : (name ?? 'fault');
};
