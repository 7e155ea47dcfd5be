import { createHash, createHmac } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import {
  answerOf,
  claimKey,
  claimOf,
  dropKey,
  holdKey,
  takeOverKey,
} from '../../../db/operations/idempotency.queries.js';
import type { KeyName } from '../../../db/operations/idempotency.queries.js';
import { problem } from '../errors.js';
import { Reply } from '../reply.js';
import { JsonStream } from '../json/json-stream.js';
import type { Database } from '../../../db/client/database.js';
import type { Tx } from '../../../db/client/database.js';

const POLL_MS = 40;
/** Longer than any request may take: an older claim belongs to a crashed process. */
const ABANDONED_SECONDS = 30;

/** A POST under an Idempotency-Key: for each caller and path, the same key and body get the stored answer. */
export interface IdempotencyKey {
  name: KeyName;
  bodyHash: Buffer;
}

export function idempotencyKeyOf(
  caller: string,
  method: string,
  path: string,
  key: string,
  raw: Buffer,
  secret: string,
): IdempotencyKey {
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw problem('VALIDATION_FAILED', {
      detail: 'Idempotency-Key must be 1 to 200 printable characters',
      errors: [
        {
          path: 'header.idempotency-key',
          code: 'PATTERN',
          message: 'Idempotency-Key must be 1 to 200 printable characters',
        },
      ],
    });
  }
  // Keyed, so that a stored hash reveals nothing of a short body's content.
  return {
    name: { caller, method, path: path.slice(0, 500), key },
    bodyHash: createHmac('sha256', secret).update(raw).digest(),
  };
}

/** The id of a request's command: another caller, path, key or body is another command. */
export const requestKeyOf = ({ name, bodyHash }: IdempotencyKey): string =>
  createHash('sha256')
    .update([name.caller, name.method, name.path, name.key, bodyHash.toString('hex')].join(' '))
    .digest('hex');

/**
 * Claims a key. `with the change`: in its own transaction, so that claim, change and answer commit together: a
 * concurrent twin's insert waits until this one ends, and a crashed process leaves nothing behind. Else the claim
 * commits at once: a concurrent twin waits for the answer, and the claim of a crashed process is taken over after 30 s.
 * @returns the stored answer when the request was answered before
 */
export async function claim(
  db: Database | Tx,
  request: IdempotencyKey,
  commits: 'with the change' | { waitSeconds: number },
): Promise<Reply | undefined> {
  if (await claimKey(db, request.name, request.bodyHash)) return undefined;
  if (commits !== 'with the change') return waitForTwin(db, request, commits.waitSeconds);
  const stored = await claimOf(db, request.name);
  if (!stored) throw problem('IDEMPOTENCY_IN_PROGRESS');
  return replay(stored, request);
}

async function waitForTwin(
  db: Database | Tx,
  request: IdempotencyKey,
  waitSeconds: number,
): Promise<Reply | undefined> {
  const deadline = performance.now() + waitSeconds * 1000;
  do {
    const stored = await claimOf(db, request.name);
    if (stored) {
      if (!stored.body_hash.equals(request.bodyHash)) throw problem('IDEMPOTENCY_KEY_REUSED');
      if (stored.finished) return stored.status === null ? undefined : replay(stored, request);
      if (await takeOverKey(db, request.name, ABANDONED_SECONDS)) return undefined;
    }
    if (performance.now() > deadline) throw problem('IDEMPOTENCY_IN_PROGRESS');
    await pause(POLL_MS);
  } while (!(await claimKey(db, request.name, request.bodyHash)));
  return undefined;
}

/**
 * Stores the answer. Errors are not stored: they changed nothing, and a retry may succeed. Nor is a stream, which may
 * be large: its key only fixes the body, and a repeat is processed again.
 */
export async function storeResponse(db: Database | Tx, request: IdempotencyKey, answer: Reply): Promise<void> {
  if (answer.body instanceof Readable) return holdKey(db, request.name);
  const body = answer.body instanceof JsonStream ? answer.body.toString() : JSON.stringify(answer.body ?? null);
  await answerOf(db, request.name, { status: answer.status, headers: answer.headers, body });
}

/** Releases the key of a failed request, so that it can be retried. */
export const releaseKey = (database: Database, request: IdempotencyKey): Promise<void> =>
  dropKey(database, request.name);

function replay(stored: NonNullable<Awaited<ReturnType<typeof claimOf>>>, request: IdempotencyKey): Reply {
  if (!stored.body_hash.equals(request.bodyHash)) throw problem('IDEMPOTENCY_KEY_REUSED');
  if (!stored.finished) throw problem('IDEMPOTENCY_IN_PROGRESS');
  const body: unknown = storedBody(stored.body);
  return new Reply(stored.status ?? 200, body === null ? undefined : body, {
    ...stored.headers,
    'Idempotent-Replay': 'true',
  });
}

/** A long answer is sent as it is stored. */
const LONG_LETTERS = 128 * 1024;
const storedBody = (text: string | null): unknown =>
  text !== null && text.length > LONG_LETTERS ? new JsonStream([Buffer.from(text)]) : JSON.parse(text ?? 'null');
