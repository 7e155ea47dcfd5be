import { createHash } from 'node:crypto';
import { canonicalJson } from '../../db/canonical-json.js';
import type { Tx } from '../../db/knex.js';
import { compileSource, modulesOfVersion } from '../../db/queries/batteries.js';
import { compileBattery } from '../../workflows/domain/assessment/compile.js';
import { problem } from '../errors.js';
import { reply } from '../route.js';
import type { Reply } from '../route.js';

interface Bytes { body: Buffer; checksum: string }
const MOST = 500;
/** Published versions never change, so what they compile to is kept; the oldest goes when there are too many. */
const kept = new Map<string, Bytes>();

/**
 * The battery as a client is given it: the same version and language are the same bytes, with their SHA-256 as the tag
 * (decisions, section 4). @throws 404 no such battery, or no such version of it
 */
export async function compile(tx: Tx, id: number, version: number | undefined, language: string): Promise<Reply> {
  const source = await compileSource(tx, id, version);
  if (!source) throw problem('NOT_FOUND', { detail: 'There is no such battery, or no such version of it.' });
  const key = `${source.study_id} ${source.id} ${source.version} ${language}`;
  const known = source.published ? kept.get(key) : undefined;
  const bytes = known ?? await build(tx, source, language);
  if (source.published && !known) keep(key, bytes);
  return reply(200, bytes.body, {
    'Content-Type': 'application/json; charset=utf-8', ETag: `"${bytes.checksum}"`,
    // A device asks again each time, and is told 304: who lost the right to the study no longer gets it.
    'Cache-Control': 'private, no-cache',
  });
}

async function build(tx: Tx, source: { id: number; version: number }, language: string): Promise<Bytes> {
  const content = compileBattery(source, await modulesOfVersion(tx, source.id, source.version), language);
  const checksum = createHash('sha256').update(canonicalJson(content)).digest('hex');
  return { body: Buffer.from(canonicalJson({ ...content, checksum })), checksum };
}

function keep(key: string, bytes: Bytes): void {
  if (kept.size >= MOST) kept.delete(kept.keys().next().value!);
  kept.set(key, bytes);
}
