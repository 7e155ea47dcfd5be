import { anchorStatement, readAnchor } from '../../db/anchor/anchors.queries.js';
import type { AnchorResponse } from '../../db/anchor/anchors.queries.js';
import { readAnchorAsOf } from '../../db/anchor/as-of.queries.js';
import { hashOf, visitKey } from '../../db/audit/hashing.js';
import type { Tx } from '../../db/client/database.js';
import { readOneInScope } from '../../db/client/transaction.js';
import { readFacts } from '../../db/participants/facts.queries.js';
import type { FactRow } from '../../db/participants/facts.queries.js';
import { readScheduleInputs } from '../../db/scheduling/schedules.queries.js';
import { judgeOverride, overrideRefusalCode } from '../../workflows/domain/anchor/decide.js';
import { policyAndFacts } from '../../workflows/domain/anchor/facts.js';
import type { Impact } from '../../workflows/domain/anchor/preview.js';
import { previewBasis, previewOf } from '../../workflows/domain/anchor/regeneration.js';
import type { Dependencies } from '../dependencies.js';
import { problem, problemOf } from '../http/errors.js';
import { requirePast } from '../participants/as-of.js';
import { currentPolicy } from '../studies/policy.service.js';

/** The current anchor. @throws 404 */
const anchorOf = async (tx: Tx, participantId: string): Promise<AnchorResponse> =>
  getAnchorOrThrow(await readAnchor(tx, participantId));
export const currentAnchor = async (
  services: Dependencies,
  studyId: string,
  participantId: string,
): Promise<AnchorResponse> =>
  getAnchorOrThrow(
    (await readOneInScope<AnchorResponse>(services.database, studyId, anchorStatement(participantId)))[0],
  );

export function getAnchorOrThrow(anchor: AnchorResponse | undefined): AnchorResponse {
  if (!anchor) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  return anchor;
}

/**
 * The anchor now, or as it was on record at `instant`. @throws 400 IN_FUTURE, 404 before the participant was on record
 */
export async function anchorAsOf(tx: Tx, participantId: string, instant: string | undefined): Promise<AnchorResponse> {
  if (instant === undefined) return anchorOf(tx, participantId);
  await requirePast(tx, participantId, instant);
  return (await readAnchorAsOf(tx, participantId, instant))!;
}

/** Who reads an anchor: what staff wrote of a participant, and who they are, is not for the participant. */
export const anchorFor = <A extends AnchorResponse>({ role }: { role: string }, anchor: A): A =>
  role === 'participant' ? { ...anchor, source_ref: null, override_reason: null } : anchor;

/** @throws 403 if the policy lets no participant set, and so see, the enrollment date */
export async function requireOwnDate(tx: Tx, studyId: string): Promise<void> {
  const { permissions } = await currentPolicy(tx, studyId);
  if (!permissions.participant_can_set)
    throw problem('FORBIDDEN', { detail: 'The policy does not let participants set the enrollment date.' });
}

/**
 * Previews an override to `date`, with the hash that an override or an approval can echo. Changes nothing.
 * @param known the facts of the participant, if the caller has read them
 */
export async function previewOverride(
  tx: Tx,
  participantId: string,
  date: string,
  regenerate: boolean,
  actorId: string,
  known?: FactRow,
): Promise<Impact & { preview_hash: string }> {
  const row = known ?? (await readFacts(tx, [participantId]))[0];
  if (!row) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  const { policy, facts } = policyAndFacts(row);
  if (row.participant.status === 'withdrawn') throw problem('PARTICIPANT_WITHDRAWN');
  if (facts.anchor.status !== 'finalized')
    throw problem('NOT_FINALIZED', {
      detail: `only a finalized date is overridden; the anchor is ${facts.anchor.status}`,
    });
  const { errors, warnings } = judgeOverride(policy, facts, date, actorId);
  if (errors.length > 0)
    throw problemOf(400, overrideRefusalCode(errors), errors.map((e) => e.message).join('; '), { errors, warnings });
  const inputs = (await readScheduleInputs(tx, row.study_id, [participantId])).get(participantId)!;
  const impact = previewOf(date, inputs, (identity) => visitKey(participantId, identity), {
    today: facts.today,
    warnings: warnings.map((w) => `${w.code}: ${w.message}`),
    regenerate,
  });
  return {
    ...impact,
    preview_hash: hashOf(
      previewBasis(inputs, {
        policy_version: row.policy_version,
        anchor_version: row.anchor.version,
        date,
        regenerate,
      }),
    ),
  };
}
