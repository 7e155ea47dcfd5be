import { setTimeout as sleep } from 'node:timers/promises';
import { claimedOf, storeReminderResults } from '../../../db/notifications/reminders.queries.js';
import type { ReminderResult } from '../../../db/notifications/reminders.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { Database } from '../../../db/client/database.js';

const PAUSE_MS = 25,
  MAX_TRIES = 200,
  ROOM_MS = 2;
/**
 * A separate commit costs more than sending: the first result waits this long for others, or until there are enough.
 */
const GATHER_MS = 20,
  BATCH_SIZE = 12;

/**
 * Stores reminders' results, many in one transaction: results that arrive during a commit go with the next one. So
 * there is at most one commit between a message's acceptance and its record, and a dead worker leaves few uncertain.
 */
export class ResultWriter {
  private waiting: ReminderResult[] = [];
  private running: Promise<void> | undefined;
  private fault: unknown;
  private enough: (() => void) | undefined;
  constructor(
    private readonly database: Database,
    private readonly by: string,
  ) {}

  add(settlement: ReminderResult): void {
    if (this.fault !== undefined) throw this.fault;
    this.waiting.push(settlement);
    if (this.waiting.length >= BATCH_SIZE) this.enough?.();
    this.running ??= this.run()
      .catch((fault: unknown) => {
        this.fault = fault;
      })
      .finally(() => {
        this.running = undefined;
      });
  }

  /** Waits while more than this many are unwritten: they would be uncertain after a crash. */
  async room(most: number): Promise<void> {
    while (this.running && this.waiting.length >= most) await sleep(ROOM_MS);
  }

  /** Waits until everything is written. @throws errors of the database */
  async done(): Promise<void> {
    while (this.running) await this.running;
    if (this.fault !== undefined) throw this.fault;
  }

  private async run(): Promise<void> {
    for (let tries = 0; this.waiting.length > 0;) {
      if (this.waiting.length < BATCH_SIZE) await this.gather();
      const now = this.waiting;
      this.waiting = [];
      const written = new Set((await this.write(now)).map(({ id }) => id));
      const left = now.filter(({ id }) => !written.has(id));
      if (left.length === 0) continue;
      // Another transaction holds these rows. After a lost lease there is nothing to write.
      if (++tries > MAX_TRIES) throw new Error('reminders could not be settled: their rows stay locked');
      if (written.size === 0) await sleep(PAUSE_MS);
      this.waiting.push(...(await this.stillOurs(left)));
    }
  }

  private gather(): Promise<void> {
    return new Promise((resolve) => {
      const late = setTimeout(resolve, GATHER_MS);
      this.enough = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }

  private write(settlements: readonly ReminderResult[]) {
    return withStudyScope(this.database, '*', async ({ tx, audit }) => {
      const rows = await storeReminderResults(tx, this.by, settlements);
      const studies = new Map<string, Record<string, string[]>>();
      for (const { id, study_id, status } of rows) {
        const of = studies.get(study_id) ?? {};
        (of[status === 'pending' ? 'put_off' : status] ??= []).push(id);
        studies.set(study_id, of);
      }
      for (const [study_id, metadata] of studies)
        audit.record({
          study_id,
          user_id: null,
          action: 'reminders_processed',
          resource_type: 'notification',
          resource_id: null,
          metadata,
        });
      return rows;
    });
  }

  private async stillOurs(left: readonly ReminderResult[]): Promise<ReminderResult[]> {
    const ids = await withStudyScope(this.database, '*', ({ tx }) =>
      claimedOf(
        tx,
        left.map(({ id }) => id),
        this.by,
      ),
    );
    return left.filter(({ id }) => ids.includes(id));
  }
}
