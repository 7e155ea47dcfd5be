/** Values and characters that are worked on in one go. */
const SHORT = { values: 500, letters: 10_000 };

/** Whether a JSON value is so long that others should be served while it is worked on; `short`: another length. */
export function isLong(value: unknown, short: { values: number; letters: number } = SHORT): boolean {
  return look(value, { ...short });
}

/** Copies no list and no object for this: there may be a million values, or thousands of small ones to ask about. */
function look(part: unknown, left: { values: number; letters: number }): boolean {
  if ((left.values -= 1) < 0) return true;
  if (typeof part === 'string') return (left.letters -= part.length) < 0;
  if (typeof part !== 'object' || part === null) return false;
  if (Array.isArray(part)) return part.some((item) => look(item, left));
  for (const name in part) if (look((part as Record<string, unknown>)[name], left)) return true;
  return false;
}
