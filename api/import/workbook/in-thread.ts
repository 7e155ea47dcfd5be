import { problem } from '../../errors.js';
import { Turns } from '../../pdf/turns.js';
import { threadOf } from '../../../db/thread-of.js';
import type { SheetRead } from './read.js';
import type { ThreadData, ThreadMessage } from './thread.js';
import { unreadable } from './unreadable.js';

/** What was read of a workbook: its rows, packed. */
export interface Contents {
  sheet: SheetRead;
  pieces: Uint8Array[];
}

export interface Reading {
  /** Nobody waits for it any more. */
  gone: AbortSignal;
  /** The largest workbook that is taken needs a twentieth of it, where nobody else uses the processor. */
  limitMs?: number;
  /** The program that reads, where it is another: its name and the file that it stands beside. */
  program?: readonly [name: string, from: string];
}

const LIMIT_MS = 60_000;
/** One on a processor of its own leaves the others to those who import nothing. */
const AT_ONCE = 2,
  MOST_WAITING = 10;
const turns = new Turns(AT_ONCE);
let inLine = 0;
/**
 * What is read is bounded piece by piece, so that no thread comes near it: one that runs out of memory ends, but may
 * take the process with it.
 */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4 };

/**
 * Reads a workbook in a thread of its own, which ends with it; two at a time.
 * @throws 400 FILE_UNREADABLE, 503 where too many wait, or where the thread was lost
 */
export async function readInThread(bytes: Buffer, reading: Reading): Promise<Contents> {
  if (inLine >= AT_ONCE + MOST_WAITING)
    throw problem('UNAVAILABLE', {
      detail: 'Too many workbooks are being read: try again.',
      headers: { 'Retry-After': '5' },
    });
  inLine += 1;
  try {
    return await turns.run(() => read(bytes, reading));
  } finally {
    inLine -= 1;
  }
}

async function read(
  bytes: Buffer,
  { gone, limitMs = LIMIT_MS, program = ['./thread', import.meta.url] }: Reading,
): Promise<Contents> {
  if (gone.aborted) throw left();
  const workerData: ThreadData = { bytes };
  const thread = threadOf(...program, { workerData, resourceLimits: MEMORY });
  const pieces: Uint8Array[] = [];
  let late: NodeJS.Timeout | undefined;
  let leave = () => {};
  try {
    return await new Promise<Contents>((resolve, reject) => {
      late = setTimeout(() => {
        reject(unreadable(`The workbook could not be read within ${limitMs / 1000} seconds.`));
      }, limitMs);
      leave = () => {
        reject(left());
      };
      gone.addEventListener('abort', leave);
      thread.on('message', (message: ThreadMessage) => {
        if ('piece' in message) pieces.push(message.piece);
        else if ('sheet' in message) resolve({ sheet: message.sheet, pieces });
        else if ('refused' in message)
          reject(unreadable(message.refused, message.cause === '' ? undefined : new Error(message.cause)));
        else reject(new Error(`a workbook could not be read: ${message.fault}`));
      });
      thread.on('messageerror', reject);
      thread.on('error', (fault) => {
        reject(lost(fault));
      });
      thread.on('exit', (code) => {
        reject(lost(new Error(`the thread ended with code ${code}`)));
      });
    });
  } finally {
    clearTimeout(late);
    gone.removeEventListener('abort', leave);
    await thread.terminate();
  }
}

const left = () => problem('BAD_REQUEST', { detail: 'The caller went away while the workbook was read.' });
const lost = (cause: Error) =>
  problem('UNAVAILABLE', { detail: 'The workbook could not be read: the thread that was reading it ended.', cause });
