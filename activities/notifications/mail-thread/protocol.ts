import type { Message } from '../provider.js';

/** What the thread begins with: SMTP_URL, MAIL_FROM. */
export interface MailWorkerData {
  url: string;
  from: string;
}
/** A mail to be sent, and the number that its answer bears. */
export interface SendRequest {
  n: number;
  message: Message;
}
/** What a provider's error is, where errors cannot go: a thread is told data only. */
export type SendFault =
  | { kind: 'refused'; message: string; addressIsGone: boolean }
  | { kind: 'again'; message: string; code: string | undefined };
export type SendAnswer = 'ready' | { n: number; fault?: SendFault };

/** What is said in one turn of a loop is said at once: waking the other side costs more than what it is told. */
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
