import type { Logger } from 'pino';
import type { Message, Provider } from '../provider.js';
import { MailWorker } from './mail-thread.js';

/** Two for each of its connections: with more in progress, the worker itself sends faster. */
const BATCH_SIZE = 16;
const IDLE_MS = 60_000;
/** After a lost thread the worker itself sends mails for this long before it starts another. */
const AGAIN_MS = 10_000;

export interface BulkMailerDeps {
  /** SMTP_URL. */
  url: string;
  /** MAIL_FROM. */
  from: string;
  /** The worker's own mailer: used while there is no thread, and for its overload. */
  own: Provider;
  log: Pick<Logger, 'warn'>;
  idleMs?: number;
}

/**
 * The mailer for large numbers: most of a mail's cost is building it (MIME, its streams), which a separate thread does.
 * It starts with the first mail and ends after a minute without any. It has no database access: claims, decisions and
 * results stay with the sweep, so that a lost thread is like a lost answer of the mail server.
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

  /** Ends the thread, after its running mails. */
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
      // Only code or name: a library's error may quote its input.
      this.deps.log.warn(
        { fault: codeOf(fault) },
        'the thread that sends mails has ended: its mails are retried; until it restarts, the worker sends them',
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
