import { problem } from '../../../http/errors.js';
import { ConcurrencyLimiter } from '../../../util/concurrency-limiter.js';
import { startThread } from '../../../../db/client/start-thread.js';
import type { ImportThreadData, ImportThreadMessage } from '../reading-thread.js';
import type { SheetRead } from './read.js';
import { unreadable } from './unreadable.js';

/** What was read of a file: its rows, packed. */
export interface Contents<Found> {
  sheet: Found;
  pieces: Uint8Array[];
}

export interface WorkbookReading {
  /** What it is called in a refusal. */
  what?: 'workbook' | 'file';
  /** Nobody waits for it any more. */
  gone: AbortSignal;
  /** The largest workbook that is taken needs a twentieth of it, where nobody else uses the processor. */
  limitMs?: number;
  /** The program that reads, where it is another: its name and the file that it stands beside. */
  program?: readonly [name: string, from: string];
}

const LIMIT_MS = 60_000;
/** One on a processor of its own leaves the others to those who import nothing. */
const CONCURRENCY = 2,
  MAX_WAITING = 10;
const turns = new ConcurrencyLimiter(CONCURRENCY);
let inLine = 0;
/**
 * What is read is bounded piece by piece, so that no thread comes near it: one that runs out of memory ends, but may
 * take the process with it.
 */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4 };

/**
 * Reads a workbook, or another file of rows, in a thread of its own, which ends with it; two at a time.
 * @throws 400 FILE_UNREADABLE, 503 where too many wait, or where the thread was lost
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
  { what = 'workbook', gone, limitMs = LIMIT_MS, program = ['./thread', import.meta.url] }: WorkbookReading,
): Promise<Contents<Found>> {
  if (gone.aborted) throw left(what);
  const workerData: ImportThreadData = { bytes };
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
