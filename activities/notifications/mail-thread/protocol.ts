import type { Message } from '../provider.js';

/** The thread's input: SMTP_URL, MAIL_FROM. */
export interface MailWorkerData {
  url: string;
  from: string;
}
/** A mail to be sent, and the number of its answer. */
export interface SendRequest {
  n: number;
  message: Message;
}
/** A provider's error as plain data, which threads can exchange. */
export type SendFault =
  | { kind: 'refused'; message: string; addressIsGone: boolean }
  | { kind: 'again'; message: string; code: string | undefined };
export type SendAnswer = 'ready' | { n: number; fault?: SendFault };

/** Messages of one event loop turn are sent together: waking the other side costs more than the messages. */
export class Gathered<T> {
  private all: T[] = [];
  constructor(private readonly post: (all: T[]) => void) {}

  add(one: T): void {
    this.all.push(one);
    if (this.all.length > 1) return;
    setImmediate(() => {
      const all = this.all;
      this.all = [];
      this.post(all);
    });
  }
}
