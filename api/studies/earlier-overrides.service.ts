import { countOffAnchor } from '../../db/scheduling/schedules.queries.js';
import type { Tx } from '../../db/client/database.js';

/** `moved_by_earlier_override` is there only where somebody's visits move. */
export type WithEarlierOverrides<T> = T & { moved_by_earlier_override?: number };

/**
 * The answer to a change of what schedules are made from. It says for how many participants all visits move with it,
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
