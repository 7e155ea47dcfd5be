import { countOffAnchor } from '../../db/scheduling/schedules.queries.js';
import type { Tx } from '../../db/client/database.js';

/** `moved_by_earlier_override` is only present if visits move because of it. */
export type WithEarlierOverrides<T> = T & { moved_by_earlier_override?: number };

/**
 * The answer to a change of a schedule's sources. It has the number of participants whose visits all move with it,
 * since an override without regeneration had left them on the former date.
 */
export async function withEarlierOverrides<T extends object>(
  tx: Tx,
  studyId: string,
  answer: T,
): Promise<WithEarlierOverrides<T>> {
  const moved = await countOffAnchor(tx, studyId);
  return moved === 0 ? answer : { ...answer, moved_by_earlier_override: moved };
}
