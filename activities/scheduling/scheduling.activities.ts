import { chunk } from '../../db/client/sets/chunk.js';
import { expireDueSessionRows } from '../../db/assessment/sessions.queries.js';
import { dueVisits, lockForMoving, moveVisits } from '../../db/scheduling/visit-statuses.queries.js';
import type { MovedVisit } from '../../db/scheduling/visit-statuses.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { pipelined } from '../util/pipelined.js';
import type { WriteSlot } from '../util/pipelined.js';
import type { Database } from '../../db/client/database.js';

/**
 * Visits of one statement and transaction: their rows are locked for some tens of milliseconds, not for the whole run.
 */
const BATCH = 300;
/** The number looked up at a time. */
const LOOKED_UP = 20_000;

export interface VisitStatusReport {
  opened: number;
  missed: number;
  /** To what lies ahead: they were opened too early. */
  returned?: number;
}
const REPORTED = { open: 'opened', missed: 'missed', scheduled: 'returned' } as const;

export interface VisitActivities {
  moveDueVisits(): Promise<VisitStatusReport>;
  expireDueSessions(): Promise<{ expired: number }>;
}

/** The periodic work on visits and sessions; each batch is its own transaction and may be retried at any point. */
export function createVisitActivities({
  database,
  heartbeat,
}: {
  database: Database;
  heartbeat: (details: unknown) => void;
}): VisitActivities {
  return {
    async moveDueVisits() {
      const report = { opened: 0, missed: 0, returned: 0 };
      for (;;) {
        const due = await readInScope(database, '*', (tx) => dueVisits(tx, LOOKED_UP));
        heartbeat(report);
        const before = report.opened + report.missed + report.returned;
        // While a batch is recorded and committed, the next is moved.
        await pipelined(chunk(due, BATCH), async (ids, slot) => {
          for (const { status } of await moveBatch(database, ids, slot)) report[REPORTED[status]] += 1;
          heartbeat(report);
        });
        // Remaining ones are locked by others: the next run gets them.
        if (due.length < LOOKED_UP || report.opened + report.missed + report.returned === before) return report;
      }
    },

    async expireDueSessions() {
      let expired = 0;
      for (;;) {
        const rows = await withStudyScope(database, '*', async ({ tx, audit }) => {
          const due = await expireDueSessionRows(tx, BATCH);
          for (const { id, study_id } of due)
            audit.record({
              study_id,
              user_id: null,
              action: 'session_expired',
              resource_type: 'session',
              resource_id: id,
            });
          return due;
        });
        expired += rows.length;
        heartbeat({ expired });
        if (rows.length < BATCH) return { expired };
      }
    },
  };
}

/** @returns the moved visits, after their audit record was committed */
function moveBatch(database: Database, ids: readonly string[], slot: WriteSlot): Promise<MovedVisit[]> {
  return withStudyScope(database, '*', async ({ tx, audit }) => {
    await slot.acquire();
    await lockForMoving(tx, ids);
    const rows = await moveVisits(tx, ids);
    slot.release();
    for (const [study_id, own] of byStudy(rows)) {
      audit.record({
        study_id,
        user_id: null,
        action: 'visit_statuses_updated',
        resource_type: 'visit',
        resource_id: null,
        metadata: {
          opened: own.filter((row) => row.status === 'open').map((row) => row.id),
          missed: own.filter((row) => row.status === 'missed').map((row) => row.id),
          ...(own.some((row) => row.status === 'scheduled') && {
            returned: own.filter((row) => row.status === 'scheduled').map((row) => row.id),
          }),
        },
      });
    }
    return rows;
  });
}

function byStudy<T extends { study_id: string }>(rows: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(row.study_id);
    if (group) group.push(row);
    else groups.set(row.study_id, [row]);
  }
  return groups;
}
