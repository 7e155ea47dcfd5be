import { createHash } from 'node:crypto';
import { canonicalJson } from '../../db/canonical-json.js';
import type { Database, Tx } from '../../db/knex.js';
import { compileSource, modulesOfVersion } from '../../db/queries/batteries.js';
import type { CompileSource } from '../../db/queries/batteries.js';
import { batteryForParticipant, batteryForUser } from '../../db/queries/battery-right.js';
import { compileBattery } from '../../workflows/domain/assessment/compile.js';
import { problem } from '../errors.js';
import { reply } from '../route.js';
import type { Asker, Ready, Reply } from '../route.js';

type Source = Pick<CompileSource, 'id' | 'study_id' | 'version' | 'published'>;
interface Bytes {
  body: Buffer;
  checksum: string;
}
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
  const known = compiledBefore(source, language);
  if (known) return known;
  const bytes = await build(tx, source, language);
  if (source.published) keep(keyOf(source, language), bytes);
  return answer(bytes);
}

/** What `compile` answers where the version was published and compiled before; undefined where it was not. */
export function compiledBefore(source: Source, language: string): Reply | undefined {
  const bytes = source.published ? kept.get(keyOf(source, language)) : undefined;
  return bytes && answer(bytes);
}

/** `compile` for a crowd: who asks and what of it are read together with others (db/shared-read.ts). */
export async function readyCompiled(
  database: Database,
  asker: Asker,
  battery: number,
  version: number | undefined,
  language: string,
): Promise<Ready> {
  const asked = { battery, version: version ?? null };
  const ready = ({ source }: { source: CompileSource | null }) =>
    source ? compiledBefore(source, language) : undefined;
  if (asker.kind === 'participant') {
    const right = await batteryForParticipant(database, {
      ...asked,
      participantId: asker.id,
      login: asker.login ?? null,
    });
    return { kind: 'participant', caller: right.caller ?? undefined, answer: ready(right) };
  }
  const right = await batteryForUser(database, {
    ...asked,
    userId: asker.id,
    studyId: asker.studyId ?? null,
    siteId: asker.siteId ?? null,
    login: asker.login ?? null,
  });
  return { kind: 'user', caller: right.caller ?? undefined, answer: ready(right) };
}

const keyOf = (source: Source, language: string): string =>
  `${source.study_id} ${source.id} ${source.version} ${language}`;

const answer = (bytes: Bytes): Reply =>
  reply(200, bytes.body, {
    'Content-Type': 'application/json; charset=utf-8',
    ETag: `"${bytes.checksum}"`,
    // A device asks again each time, and is told 304: who lost the right to the study no longer gets it.
    'Cache-Control': 'private, no-cache',
  });

async function build(tx: Tx, source: Source, language: string): Promise<Bytes> {
  const content = compileBattery(source, await modulesOfVersion(tx, source.id, source.version), language);
  const checksum = createHash('sha256').update(canonicalJson(content)).digest('hex');
  return { body: Buffer.from(canonicalJson({ ...content, checksum })), checksum };
}

function keep(key: string, bytes: Bytes): void {
  if (kept.size >= MOST) kept.delete(kept.keys().next().value!);
  kept.set(key, bytes);
}
