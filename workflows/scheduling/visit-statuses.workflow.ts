import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { VisitActivities, VisitStatusReport } from '../../activities/scheduling/scheduling.activities.js';

/** Each run processes everything due, so the next run makes up for a failed one: a few attempts are enough. */
const { moveDueVisits, expireDueSessions } = proxyActivities<VisitActivities>({
  startToCloseTimeout: '20m',
  heartbeatTimeout: '30s',
  summary: 'follow the calendar',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: 6 },
});

/** The hourly job: visits are opened and missed by the date of their site or study. */
export async function updateVisitStatuses(): Promise<VisitStatusReport> {
  const report = await moveDueVisits();
  setCurrentDetails(`${report.opened} visits opened, ${report.missed} missed`);
  return report;
}

/** Expires sessions after their expiry time, also without any access. */
export async function expireSessions(): Promise<{ expired: number }> {
  const report = await expireDueSessions();
  setCurrentDetails(`${report.expired} sessions expired`);
  return report;
}
