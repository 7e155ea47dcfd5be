import { setImmediate as others } from 'node:timers/promises';
import { canonicalJsonInSlices } from '../../db/audit/canonical-json.js';
import { isLong } from '../../workflows/domain/util/length.js';
import { inTurns } from './in-turns.js';

/** Characters serialized before yielding to other requests. */
const SLICE = 128 * 1024;

/** The JSON of each value; together they may be megabytes long. */
export async function jsonTexts(values: readonly unknown[]): Promise<string[]> {
  const texts: string[] = [];
  let letters = 0;
  for (const value of values) {
    const text = isLong(value) ? await inTurns(canonicalJsonInSlices(value, SLICE)) : JSON.stringify(value);
    texts.push(text);
    if ((letters += text.length) < SLICE) continue;
    letters = 0;
    await others();
  }
  return texts;
}
