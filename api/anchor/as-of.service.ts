import { existenceAt, readAnchorAsOf, readVersionAsOf, readVisitsAsOf } from '../../db/anchor/as-of.queries.js';
import type { AnchorResponse } from '../../db/anchor/anchors.queries.js';
import type { Tx } from '../../db/client/knex.js';
import { problem } from '../http/errors.js';
import { anchorOf } from './anchors.service.js';
import { schedule } from '../scheduling/schedule-versions.service.js';

/**
 * The anchor now, or as the service believed it to be at `instant`. @throws 400 IN_FUTURE, 404 before the participant
 * was on record
 */
export async function anchorAsOf(tx: Tx, participantId: string, instant: string | undefined): Promise<AnchorResponse> {
  if (instant === undefined) return anchorOf(tx, participantId);
  await requirePast(tx, participantId, instant);
  return (await readAnchorAsOf(tx, participantId, instant))!;
}

/**
 * The schedule now, or the one that was current at `instant` with its visits as they stood then. @throws as `anchorAt`
 */
export async function scheduleAsOf(
  tx: Tx,
  participantId: string,
  instant: string | undefined,
): Promise<Record<string, unknown>> {
  if (instant === undefined) return schedule(tx, participantId);
  await requirePast(tx, participantId, instant);
  const version = await readVersionAsOf(tx, participantId, instant);
  return {
    participant_id: participantId,
    schedule_version: version ?? null,
    visits: await readVisitsAsOf(tx, participantId, instant, version),
  };
}

/** The database's clock judges, since it is the one that wrote the record. */
async function requirePast(tx: Tx, participantId: string, instant: string): Promise<void> {
  const { ahead, existed } = await existenceAt(tx, participantId, instant);
  if (ahead) {
    const message = 'query.as_of lies in the future';
    throw problem('RULE_VIOLATED', {
      detail: `${message}: what will be believed then is not known.`,
      errors: [{ path: 'query.as_of', code: 'IN_FUTURE', message }],
    });
  }
  if (!existed) throw problem('NOT_FOUND', { detail: 'The participant was not on record then.' });
}
