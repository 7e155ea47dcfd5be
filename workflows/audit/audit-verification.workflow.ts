import { CancellationScope, continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { AuditActivities } from '../../activities/audit/audit.activities.js';
import type { AuditVerificationStart } from '../contract.js';
import { publishFailure } from '../util/outcome.js';

const { verifyAudit } = proxyActivities<AuditActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '60s',
  summary: 'verify for a while',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: 100 },
});
const { failVerification } = proxyActivities<AuditActivities>({
  startToCloseTimeout: '30s',
  summary: 'record the failure',
});
/** Activities of one run; a log of a hundred million records takes more. */
const TURNS = 500;

/** One verification of audit chains, one activity at a time; the verification's row has the progress. */
export async function auditVerification(start: AuditVerificationStart): Promise<void> {
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      setCurrentDetails(`Audit chains are verified; turn ${turn + 1}.`);
      if ((await verifyAudit(start)).done) return;
    }
  } catch {
    publishFailure('The verification was stopped, or failed a hundred times.');
    // The activity's failures have the reason; a cancelled run also ends its verification.
    await CancellationScope.nonCancellable(() =>
      failVerification(start, 'The verification was stopped, or failed a hundred times.'),
    );
    return;
  }
  await continueAsNew<typeof auditVerification>(start);
}
