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
/** Turns of one run; a log of a hundred million records takes more. */
const TURNS = 500;

/** One verification of audit chains, a turn at a time; how far it is stands in the verification itself. */
export async function auditVerification(start: AuditVerificationStart): Promise<void> {
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      setCurrentDetails(`Audit chains are verified; turn ${turn + 1}.`);
      if ((await verifyAudit(start)).done) return;
    }
  } catch {
    publishFailure('The verification was stopped, or failed a hundred times.');
    // What it was is in the activity's failures; a run that is cancelled ends its verification as well.
    await CancellationScope.nonCancellable(() =>
      failVerification(start, 'The verification was stopped, or failed a hundred times.'),
    );
    return;
  }
  await continueAsNew<typeof auditVerification>(start);
}
