import { PassThrough } from 'node:stream';
import type { Readable } from 'node:stream';
import type { Tx } from '../../db/client/database.js';
import { readAsCaller } from '../../db/client/request.js';
import type { Caller, CallerRow } from '../../db/client/request.js';
import { withFileLimits } from '../../db/client/transaction.js';
import { serializeError } from '../../db/client/process/serialize-error.js';
import { authorizeUser, exporterAccess } from '../http/access.js';
import { problem } from '../http/errors.js';
import { PlacesPerUser } from '../util/places-per-user.js';
import type { Dependencies } from '../dependencies.js';

/** Each holds a database connection for as long as its reader takes. */
const MAX_STREAMS = 6;
/** One user leaves another a place. */
const places = new PlacesPerUser(5);
/** A reader that takes nothing for this long is gone (half-open connection). */
const STALL_MS = 60_000;
let running = 0;

/**
 * A body that `write` writes in a read-only transaction with the caller's current rights, in one snapshot; resolves
 * when its first bytes are there: an error before them is answered. An error after them closes the connection, so that
 * nobody takes half a file for a whole one; a reader that disconnects ends the writer.
 * @throws 503 when the maximum number of bodies is being streamed, 429 when the user reads too many; what stops the
 * writer before it has written anything
 */
export async function streamAsCaller(
  { services: { log, database }, gone }: { services: Dependencies; gone: AbortSignal },
  caller: Caller,
  write: (tx: Tx, sink: PassThrough) => Promise<unknown>,
): Promise<Readable> {
  if (running >= MAX_STREAMS)
    throw problem('UNAVAILABLE', {
      detail: 'Too many exports are being written: try again, or have it written in the background.',
      headers: { 'Retry-After': '5' },
    });
  const leave = places.take(caller.userId);
  if (!leave)
    throw problem('QUOTA_EXCEEDED', {
      detail: `You read ${places.each} exports already: end one of them, or have this one written in the background.`,
      headers: { 'Retry-After': '5' },
    });
  running += 1;
  let isBegun = false;
  let passed = 0,
    seen = -1;
  const { sink, begun } = noticed(() => {
    isBegun = true;
  });
  sink.on('data', (chunk: Buffer) => {
    passed += chunk.length;
  });
  sink.pause();
  const stalled = setInterval(() => {
    if (passed === seen && sink.readableLength > 0) sink.destroy(new Error('the reader takes nothing any more'));
    seen = passed;
  }, STALL_MS);
  const leaves = () => {
    sink.destroy();
  };
  gone.addEventListener('abort', leaves);
  const admit = (row: CallerRow | undefined) => authorizeUser(exporterAccess, row, caller.studyId);
  const written = readAsCaller(database, caller, admit, async (tx) => {
    await withFileLimits(tx);
    await write(tx, sink);
  })
    .catch((fault: unknown) => {
      if (!isBegun && !gone.aborted) {
        sink.destroy();
        throw fault;
      }
      if (!sink.destroyed) log.error({ err: serializeError(fault) }, 'an export broke off');
      sink.destroy(fault instanceof Error ? fault : undefined);
    })
    .finally(() => {
      gone.removeEventListener('abort', leaves);
      clearInterval(stalled);
      running -= 1;
      leave();
    });
  await Promise.race([begun, written]);
  return sink;
}

/** A stream that notices the first bytes that are written to it. */
function noticed(first: () => void): { sink: PassThrough; begun: Promise<void> } {
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const sink = new PassThrough({
    transform(chunk: Buffer, _encoding, done) {
      first();
      begin();
      done(null, chunk);
    },
  });
  // It may fail before anybody reads it: its reader finds it destroyed.
  sink.on('error', () => undefined);
  return { sink, begun };
}
