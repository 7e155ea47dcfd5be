/**
 * JSON in the canonical form of RFC 8785: keys sorted by UTF-16 code units, no spaces, numbers and strings as
 * ECMAScript writes them. The same content always hashes to the same bytes.
 * @throws TypeError for what JSON cannot hold (NaN, functions, bigint).
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`not a JSON number: ${value}`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item === undefined ? null : item)).join(',')}]`;
  if (typeof value === 'object') {
    const record = value as Record<string, unknown>;
    const members = Object.keys(record).filter((key) => record[key] !== undefined).sort();
    return `{${members.map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key])}`).join(',')}}`;
  }
  throw new TypeError(`not a JSON value: ${typeof value}`);
}
