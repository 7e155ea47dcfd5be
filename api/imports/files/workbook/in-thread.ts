import { problem } from '../../../http/errors.js';
import { ConcurrencyLimiter } from '../../../util/concurrency-limiter.js';
import { startThread } from '../../../../db/client/start-thread.js';
import type { ImportThreadData, ImportThreadMessage } from '../reading-thread.js';
import type { SheetRead } from './read.js';
import { unreadable } from './unreadable.js';

/** The content of a file: its compressed rows. */
export interface Contents<Found> {
  sheet: Found;
  pieces: Uint8Array[];
}

export interface WorkbookReading {
  /** Its name in a refusal. */
  what?: 'workbook' | 'file';
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
  /** The character set that is claimed of a file. */
  charset?: string | undefined;
  /** The largest accepted workbook needs a twentieth of it on an idle processor. */
  limitMs?: number;
  /** Another reading program: its name, and a file in the same folder. */
  program?: readonly [name: string, from: string];
}

const LIMIT_MS = 60_000;
/** On a processor of its own it leaves the others to other requests. */
const CONCURRENCY = 2,
  MAX_WAITING = 10;
const turns = new ConcurrencyLimiter(CONCURRENCY);
let inLine = 0;
/**
 * The input is limited piece by piece, so that no thread comes near it: a thread that runs out of memory may take the
 * process with it.
 */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4 };

/**
 * Reads a workbook, or another file of rows, in its own thread, which ends afterwards; two at a time.
 * @throws 400 FILE_UNREADABLE, 503 when too many wait, or when the thread was lost
 */
export async function readInThread<Found = SheetRead>(
  bytes: Buffer,
  reading: WorkbookReading,
): Promise<Contents<Found>> {
  if (inLine >= CONCURRENCY + MAX_WAITING)
    throw problem('UNAVAILABLE', {
      detail: 'Too many files are being read: try again.',
      headers: { 'Retry-After': '5' },
    });
  inLine += 1;
  try {
    return await turns.run(() => read<Found>(bytes, reading));
  } finally {
    inLine -= 1;
  }
}

async function read<Found>(
  bytes: Buffer,
  { what = 'workbook', gone, charset, limitMs = LIMIT_MS, program = ['./thread', import.meta.url] }: WorkbookReading,
): Promise<Contents<Found>> {
  if (gone.aborted) throw left(what);
  const workerData: ImportThreadData = { bytes, charset };
  const thread = startThread(...program, { workerData, resourceLimits: MEMORY });
  const pieces: Uint8Array[] = [];
  let late: NodeJS.Timeout | undefined;
  let leave = () => {};
  try {
    return await new Promise<Contents<Found>>((resolve, reject) => {
      late = setTimeout(() => {
        reject(unreadable(`The ${what} could not be read within ${limitMs / 1000} seconds.`));
      }, limitMs);
      leave = () => {
        reject(left(what));
      };
      gone.addEventListener('abort', leave);
      thread.on('message', (message: ImportThreadMessage<Found>) => {
        if ('piece' in message) pieces.push(message.piece);
        else if ('sheet' in message) resolve({ sheet: message.sheet, pieces });
        else if ('refused' in message)
          reject(
            problem(message.code, {
              detail: message.refused,
              ...(message.cause !== '' && { cause: new Error(message.cause) }),
            }),
          );
        else reject(new Error(`a ${what} could not be read: ${message.fault}`));
      });
      thread.on('messageerror', reject);
      thread.on('error', (fault) => {
        reject(lost(what, fault));
      });
      thread.on('exit', (code) => {
        reject(lost(what, new Error(`the thread ended with code ${code}`)));
      });
    });
  } finally {
    clearTimeout(late);
    gone.removeEventListener('abort', leave);
    await thread.terminate();
  }
}

const left = (what: string) => problem('BAD_REQUEST', { detail: `The caller went away while the ${what} was read.` });
const lost = (what: string, cause: Error) =>
  problem('UNAVAILABLE', { detail: `The ${what} could not be read: the thread that was reading it ended.`, cause });
