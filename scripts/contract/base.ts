import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { isObject } from './alternatives.js';
import type { Json } from './alternatives.js';

const FILE = join('docs', 'contract', 'base.json.gz');
/** Keywords without effect on requests and answers. */
const WORDS = new Set(['description', 'summary', 'example', 'examples', 'tags', 'externalDocs', 'servers', 'title']);
/** Keywords whose keys are names. */
const NAMED = new Set([
  'properties',
  'patternProperties',
  'paths',
  'webhooks',
  'responses',
  'headers',
  'content',
  'schemas',
]);

/** The stored contract of the last release. */
export const readBase = (root: string): Json =>
  JSON.parse(gunzipSync(readFileSync(join(root, FILE))).toString('utf8')) as Json;

/** Stores a contract as that of the last release, without descriptions. */
export function writeBase(root: string, document: Json): void {
  writeFileSync(join(root, FILE), gzipSync(JSON.stringify(withoutWords(document, false)), { level: 9 }));
}

function withoutWords(value: unknown, named: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutWords(item, false));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => named || !(WORDS.has(key) || key.startsWith('x-')))
      .map(([key, item]) => [key, withoutWords(item, !named && NAMED.has(key))]),
  );
}
