/** Limits of a form's content, so that rules that read it stay within their steps. */
export const MAX_FACT_ITEMS = 2_000;
/** Bytes of all items of a participant: each decision reads them all. */
export const MAX_FORMS_BYTES = 5_000_000;
const MAX_ENTRIES = 1_000;
const MAX_CHARACTERS = 20_000;
const MAX_NESTING = 8;

export interface BoundFault {
  path: string;
  code: 'MAX_ITEMS' | 'MAX_LENGTH' | 'MAX_PROPERTIES' | 'MAX_DEPTH';
  message: string;
}

/**
 * The first place of a fact that is larger than rules may read: a list or object has at most 1,000 entries in total,
 * text 20,000 characters, nesting 8 levels.
 */
export function boundFault(value: unknown, path: string): BoundFault | null {
  let entries = 0;
  const look = (part: unknown, path: string, depth: number): BoundFault | null => {
    if (typeof part === 'string')
      return part.length > MAX_CHARACTERS
        ? fault(path, 'MAX_LENGTH', `has more than ${MAX_CHARACTERS} characters`)
        : null;
    if (typeof part !== 'object' || part === null) return null;
    if (depth > MAX_NESTING) return fault(path, 'MAX_DEPTH', `is nested deeper than ${MAX_NESTING} levels`);
    const inside = Object.entries(part);
    if ((entries += inside.length) > MAX_ENTRIES)
      return Array.isArray(part)
        ? fault(path, 'MAX_ITEMS', `has more than ${MAX_ENTRIES} entries`)
        : fault(path, 'MAX_PROPERTIES', `has more than ${MAX_ENTRIES} entries`);
    for (const [name, item] of inside) {
      const found = look(item, `${path}.${name}`, depth + 1);
      if (found) return found;
    }
    return null;
  };
  return look(value, path, 1);
}

const fault = (path: string, code: BoundFault['code'], sentence: string): BoundFault => ({
  path,
  code,
  message: `${path} ${sentence}`,
});

/** The places of named facts that are too large. `inAll`: their total number. */
export function boundFaults(facts: Record<string, unknown>, path: string, inAll: number): BoundFault[] {
  if (inAll > MAX_FACT_ITEMS) return [fault(path, 'MAX_PROPERTIES', `has more than ${MAX_FACT_ITEMS} items`)];
  return Object.entries(facts).flatMap(([name, value]) => boundFault(value, `${path}.${name}`) ?? []);
}
