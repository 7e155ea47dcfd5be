import { setTimeout as sleep } from 'node:timers/promises';
import { DAY } from '../anchor/stage.js';
import { newParticipant, newStudy } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import type { Http } from '../support/http.js';

const CLIENTS = 6;
const ATTEMPTS = 3;
/**
 * Between two requests of a client. Together they ask sixty times a second at most, and the processors are free for
 * those that start; in the long form they take all that there is.
 */
const PAUSE_MS = asMuchAs(100, 0);
const FINAL_AT_ONCE = {
  prerequisites: { require_consent_signed: false },
  sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
};

/** Clients of one study that ask one request after another, while processes are ended and started again as a deployment does it. */
export class Traffic {
  requests = 0;
  /** Sent again because their connection was closed. */
  resent = 0;
  /** What a client saw that it should not have seen. */
  readonly failed: string[] = [];
  private stopping = false;
  private clients: Promise<void>[] = [];
  private constructor(
    private readonly http: Http,
    readonly study: string,
  ) {}

  static async start(http: Http): Promise<Traffic> {
    const { id } = await newStudy(http, { config: { enrollment_date_policy: FINAL_AT_ONCE } });
    const traffic = new Traffic(http, id);
    const people = await Promise.all(Array.from({ length: CLIENTS }, () => newParticipant(http, id)));
    traffic.clients = people.map((person, client) => traffic.client(person.id, client));
    return traffic;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.clients);
  }

  private async client(id: string, client: number): Promise<void> {
    for (let n = 0; !this.stopping; n += 1) {
      const path = `/api/studies/${this.study}/participants`;
      const made = await this.send('POST', path, { participant_code: `R-${client}-${n}` }, `made-${client}-${n}`);
      // Long-lived workflows are the ones that a worker holds when it goes.
      await this.send('POST', `${path}/${id}/anchor-date/evaluate`, {}, `evaluate-${client}-${n}`);
      if (made)
        await this.send(
          'POST',
          `${path}/${made.body.id}/anchor-date`,
          { enrollment_date: DAY, reason: 'rolling' },
          `date-${client}-${n}`,
        );
      await this.send('GET', `${path}?limit=20`, undefined, '');
    }
  }

  /**
   * As a proxy's client does it: a request whose connection is closed under it is tried again, an answer is an answer.
   */
  private async send(method: string, path: string, body: unknown, key: string) {
    this.requests += 1;
    await sleep(PAUSE_MS);
    // Each connection that the client keeps may have been closed.
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      try {
        const answer = await this.http.send<{ id: string }>(method, path, body, {
          headers: key === '' ? {} : { 'Idempotency-Key': key },
        });
        if (answer.status >= 400) this.failed.push(`${method} ${path} answered ${answer.status}: ${answer.text}`);
        return answer;
      } catch (fault) {
        if (!(fault instanceof TypeError) || attempt === ATTEMPTS) {
          this.failed.push(`${method} ${path}: ${String(fault)}`);
          return undefined;
        }
        this.resent += 1;
        await sleep(50);
      }
    }
    return undefined;
  }
}
