/** Values and characters that are worked on in one go. */
const SHORT = { values: 500, letters: 10_000 };

/** Whether a JSON value is so long that others should be served while it is worked on. */
export function isLong(value: unknown): boolean {
  let { values, letters } = SHORT;
  const look = (part: unknown): boolean => {
    if ((values -= 1) < 0) return true;
    if (typeof part === 'string') return (letters -= part.length) < 0;
    // A list is not copied for this: it may have a million numbers.
    if (Array.isArray(part)) return part.some(look);
    return typeof part === 'object' && part !== null && Object.values(part).some(look);
  };
  return look(value);
}
