import type { Database } from '../../db/knex.js';
import { expireSessions } from '../../db/queries/sessions.js';
import { moveVisits } from '../../db/queries/visit-statuses.js';
import { inScope } from '../../db/transaction.js';

/** Visits of one statement and transaction: their rows are locked for some tens of milliseconds, never for the whole run. */
const BATCH = 500;

export interface VisitStatusReport { opened: number; missed: number }
export interface VisitActivities {
  moveDueVisits(): Promise<VisitStatusReport>;
  expireDueSessions(): Promise<{ expired: number }>;
}

/** The periodic work on visits and sessions; each batch is a transaction of its own and may be repeated at any point. */
export function createVisitActivities({ database, heartbeat }: { database: Database; heartbeat: (details: unknown) => void }): VisitActivities {
  return {
    async moveDueVisits() {
      const report: VisitStatusReport = { opened: 0, missed: 0 };
      for (;;) {
        const moved = await inScope(database, '*', async ({ tx, audit }) => {
          const rows = await moveVisits(tx, BATCH);
          for (const [study_id, own] of byStudy(rows)) {
            audit.record({
              study_id, user_id: null, action: 'visit_statuses_updated', resource_type: 'visit', resource_id: null,
              metadata: { opened: own.filter((row) => row.status === 'open').map((row) => row.id), missed: own.filter((row) => row.status === 'missed').map((row) => row.id) },
            });
          }
          return rows;
        });
        report.opened += moved.filter((row) => row.status === 'open').length;
        report.missed += moved.filter((row) => row.status === 'missed').length;
        heartbeat(report);
        if (moved.length < BATCH) return report;
      }
    },

    async expireDueSessions() {
      let expired = 0;
      for (;;) {
        const rows = await inScope(database, '*', async ({ tx, audit }) => {
          const due = await expireSessions(tx, BATCH);
          for (const { id, study_id } of due) audit.record({ study_id, user_id: null, action: 'session_expired', resource_type: 'session', resource_id: id });
          return due;
        });
        expired += rows.length;
        heartbeat({ expired });
        if (rows.length < BATCH) return { expired };
      }
    },
  };
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
