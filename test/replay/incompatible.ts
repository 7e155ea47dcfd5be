/** The workflows with deliberate breaks, for the test that a replay finds such a thing. All others are as they are. */
import { sleep } from '@temporalio/workflow';
import * as present from '../../workflows/anchor/participant-anchor.workflow.js';
import * as push from '../../workflows/capture/push-results.workflow.js';
import type { ParticipantAnchorStart, PushReport, PushResultsStart, WaitingState } from '../../workflows/contract.js';

// What is declared here stands before what is only passed on.
export * from '../../workflows/index.js';

/** Waits before it works. */
export async function participantAnchor(start: ParticipantAnchorStart): Promise<WaitingState | null> {
  await sleep('1 hour');
  return present.participantAnchor(start);
}

/** Leaves out every step. */
export async function pushResults(start: PushResultsStart): Promise<PushReport> {
  if (Date.now() > 0) return { status: 'skipped', error_type: null, records_imported: null, wait_ms: null };
  return push.pushResults(start);
}
