import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../db/audit/canonical-json.js';
import { compileSource, modulesOfVersion } from '../../../db/assessment/batteries.queries.js';
import type { CompileSource } from '../../../db/assessment/batteries.queries.js';
import { readInScope } from '../../../db/client/transaction.js';
import { compileBattery } from '../../../workflows/domain/assessment/compile.js';
import { problem } from '../../http/errors.js';
import { reply } from '../../http/route.js';
import type { Reply } from '../../http/route.js';
import type { Database } from '../../../db/client/database.js';
import type { Tx } from '../../../db/client/database.js';

type Source = Pick<CompileSource, 'id' | 'study_id' | 'version' | 'published'>;
interface Bytes {
  body: Buffer;
  checksum: string;
}
const MAX_CACHED = 500;
/** Published versions never change, so their compiled bytes are cached; the oldest is evicted at the limit. */
const kept = new Map<string, Bytes>();

/**
 * Compiles the battery for a client: the same version and language give the same bytes, with their SHA-256 as the tag.
 * @throws 404 no such battery or version
 */
export async function compile(tx: Tx, id: number, version: number | undefined, language: string): Promise<Reply> {
  return compiledOf(await compileSource(tx, id, version), language, (source) => build(tx, source, language));
}

/** `compile` from rows that were read under the caller's rights: a cached version needs no further query. */
export function compilePrefetched(database: Database, rows: unknown[] | undefined, language: string): Promise<Reply> {
  return compiledOf(rows?.[0] as CompileSource | undefined, language, (source) =>
    readInScope(database, source.study_id, (tx) => build(tx, source, language)),
  );
}

async function compiledOf(
  source: CompileSource | undefined,
  language: string,
  compiled: (source: CompileSource) => Promise<Bytes>,
): Promise<Reply> {
  if (!source) throw problem('NOT_FOUND', { detail: 'There is no such battery, or no such version of it.' });
  const key = keyOf(source, language);
  const known = source.published ? kept.get(key) : undefined;
  if (known) return answer(known);
  const bytes = await compiled(source);
  if (source.published) keep(key, bytes);
  return answer(bytes);
}

const keyOf = (source: Source, language: string): string =>
  `${source.study_id} ${source.id} ${source.version} ${language}`;

const answer = (bytes: Bytes): Reply =>
  reply(200, bytes.body, {
    'Content-Type': 'application/json; charset=utf-8',
    ETag: `"${bytes.checksum}"`,
    // A device revalidates each time, and gets 304: a caller who lost access to the study no longer gets it.
    'Cache-Control': 'private, no-cache',
  });

async function build(tx: Tx, source: Source, language: string): Promise<Bytes> {
  const content = compileBattery(source, await modulesOfVersion(tx, source.id, source.version), language);
  const checksum = createHash('sha256').update(canonicalJson(content)).digest('hex');
  return { body: Buffer.from(canonicalJson({ ...content, checksum })), checksum };
}

function keep(key: string, bytes: Bytes): void {
  if (kept.size >= MAX_CACHED) kept.delete(kept.keys().next().value!);
  kept.set(key, bytes);
}
