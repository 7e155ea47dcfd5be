import { queueDailySummaries, readDailySummary } from '../../../db/notifications/daily-summary.queries.js';
import { readAsCaller } from '../../../db/client/request.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { ConsoleLinks } from '../../../workflows/domain/util/console-links.js';
import { summaryMessage } from './message.js';
import type { Database } from '../../../db/client/database.js';

export interface SummaryActivities {
  queueSummaries(): Promise<{ queued: number }>;
}

/** Queues the morning's summaries; the relay sends them, each built at that moment with its reader's rights. */
export const createSummaryActivities = ({ database }: { database: Database }): SummaryActivities => ({
  queueSummaries: async () =>
    withStudyScope(database, '*', async ({ tx, audit }) => {
      const made = await queueDailySummaries(tx);
      for (const study_id of new Set(made.map((one) => one.study_id))) {
        audit.record({
          study_id,
          user_id: null,
          action: 'daily_summary_queued',
          resource_type: 'study',
          resource_id: study_id,
          metadata: { notifications: made.filter((one) => one.study_id === study_id).map(({ id }) => id) },
        });
      }
      return { queued: made.length };
    }),
});

/** A user's summary of a study, within that user's rights. Undefined: no access any more. */
export async function dailySummaryFor(database: Database, userId: string, studyId: string, pages?: ConsoleLinks) {
  const summary = await readAsCaller(
    database,
    { userId, studyId },
    (row) => row?.status === 'active' && row.study_seen,
    async (tx, seen) => (seen ? readDailySummary(tx, studyId) : undefined),
  );
  return (
    summary &&
    summaryMessage(
      summary,
      pages && {
        today: pages.todayOf(studyId),
        inbox: pages.inboxOf({ study: studyId }),
        failedPushes: pages.inboxOf({ kind: 'push', study: studyId }),
      },
    )
  );
}
