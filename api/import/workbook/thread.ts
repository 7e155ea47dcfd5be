/** The thread in which a workbook is read, once: the API answers meanwhile, and all that it took is gone with it. */
import { parentPort, workerData } from 'node:worker_threads';
import { Problem } from '../../errors.js';
import { readWorkbook } from './read.js';
import type { SheetRead } from './read.js';

/**
 * What the thread tells: rows, packed; at last which sheet it was, or why there is none. A refusal is one that the caller
 * is told.
 */
export type ThreadMessage =
  { piece: Uint8Array<ArrayBuffer> } | { sheet: SheetRead } | { refused: string; cause: string } | { fault: string };
export interface ThreadData {
  bytes: Uint8Array;
}

const tell = (message: ThreadMessage, moved: ArrayBuffer[] = []) => parentPort!.postMessage(message, moved);

try {
  const { bytes } = workerData as ThreadData;
  const sheet = await readWorkbook(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), (piece) =>
    tell({ piece }, [piece.buffer]),
  );
  tell({ sheet });
} catch (fault) {
  if (fault instanceof Problem)
    tell({ refused: fault.message, cause: String((fault.cause as Error | undefined)?.message ?? '') });
  else tell({ fault: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) });
}
