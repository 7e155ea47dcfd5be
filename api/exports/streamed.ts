import { PassThrough } from 'node:stream';
import type { Readable } from 'node:stream';
import type { Tx } from '../../db/client/database.js';
import { readAsCaller } from '../../db/client/request.js';
import type { Caller, CallerRow } from '../../db/client/request.js';
import { withFileLimits } from '../../db/client/transaction.js';
import { authorizeUser, exporterAccess } from '../http/access.js';
import { problem } from '../http/errors.js';
import { serializeError } from '../http/middleware/request-logger.js';
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
 * A body that `write` writes in a read-only transaction with the caller's current rights, in one snapshot. An error
 * after the start closes the connection, so that nobody takes half a file for a whole one; a reader that disconnects
 * ends the writer.
 * @throws 503 when the maximum number of bodies is being streamed, 429 when the user reads too many
 */
export function streamAsCaller(
  { log, database }: Dependencies,
  caller: Caller,
  write: (tx: Tx, sink: PassThrough) => Promise<unknown>,
): Readable {
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
  const sink = new PassThrough();
  let passed = 0,
    seen = -1;
  sink.on('data', (chunk: Buffer) => {
    passed += chunk.length;
  });
  sink.pause();
  const stalled = setInterval(() => {
    if (passed === seen) sink.destroy(new Error('the reader takes nothing any more'));
    seen = passed;
  }, STALL_MS);
  const admit = (row: CallerRow | undefined) => authorizeUser(exporterAccess, row, caller.studyId);
  void readAsCaller(database, caller, admit, async (tx) => {
    await withFileLimits(tx);
    await write(tx, sink);
  })
    .catch((fault: unknown) => {
      if (!sink.destroyed) log.error({ err: serializeError(fault) }, 'an export broke off');
      sink.destroy(fault instanceof Error ? fault : undefined);
    })
    .finally(() => {
      clearInterval(stalled);
      running -= 1;
      leave();
    });
  return sink;
}
