import { putOutbox } from '../../db/outbox/outbox.js';
import type { Randomization } from '../../db/models/records.js';
import { insertRandomization, randomizationOf } from '../../db/participants/randomization.queries.js';
import { problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor } from '../http/audit-actor.js';
import { getParticipantOrThrow, realInstant, announceSourcesChanged } from './participants.service.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

export async function randomization(tx: Tx, participantId: string): Promise<Randomization> {
  const row = await randomizationOf(tx, participantId);
  if (!row) throw problem('NOT_FOUND', { detail: 'The participant is not randomized.' });
  return row;
}

/** Randomizes once and sets the participant's arm. @throws 409 ALREADY_RANDOMIZED, 400 no instant */
export async function randomize(
  { tx, audit, actor, context }: RequestScope,
  participantId: string,
  input: { arm: string; randomized_at: string; stratum?: string | null },
): Promise<Randomization> {
  const participant = await getParticipantOrThrow(tx, participantId);
  const randomized_at = realInstant(input.randomized_at, 'randomized_at');
  const row = await mapConstraintErrors({ randomizations_participant_id_key: 'ALREADY_RANDOMIZED' }, () =>
    insertRandomization(tx, { ...input, randomized_at, study_id: participant.study_id, participant_id: participantId }),
  );
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: 'participant_randomized',
    resource_type: 'randomization',
    resource_id: row.id,
    metadata: { participant_id: participantId, randomized_at: row.randomized_at },
  });
  await putOutbox(tx, [announceSourcesChanged(participant, actor, context)]);
  return row;
}
