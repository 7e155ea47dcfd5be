/** The workflows with one deliberate break, for the test that a replay finds such a thing. */
import { sleep } from '@temporalio/workflow';
import * as present from '../../workflows/participant-anchor.js';
import type { ParticipantAnchorStart, WaitingState } from '../../workflows/contract.js';

export { datacaptureTrigger } from '../../workflows/datacapture-trigger.js';
export { studyReanchoring } from '../../workflows/study-reanchoring.js';

export async function participantAnchor(start: ParticipantAnchorStart): Promise<WaitingState | null> {
  await sleep('1 hour');
  return present.participantAnchor(start);
}
