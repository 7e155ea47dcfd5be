import { parentPort, workerData } from 'node:worker_threads';
import { Problem } from '../../http/errors.js';
import type { ErrorCode } from '../../http/errors.js';

/**
 * A message of a reading thread: compressed rows; finally the result, or the reason for failure. A refusal is passed on
 * to the caller.
 */
export type ImportThreadMessage<Found> =
  | { piece: Uint8Array<ArrayBuffer> }
  | { sheet: Found }
  | { refused: string; code: ErrorCode; cause: string }
  | { fault: string };
export interface ImportThreadData {
  bytes: Uint8Array;
  charset?: string | undefined;
}

/** Reads the thread's file and sends the result. */
export async function answerReading<Found>(
  read: (bytes: Buffer, send: (piece: Uint8Array<ArrayBuffer>) => void, charset?: string) => Promise<Found>,
): Promise<void> {
  const tell = (message: ImportThreadMessage<Found>, moved: ArrayBuffer[] = []) =>
    parentPort!.postMessage(message, moved);
  try {
    const { bytes, charset } = workerData as ImportThreadData;
    const sheet = await read(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      (piece) => tell({ piece }, [piece.buffer]),
      charset,
    );
    tell({ sheet });
  } catch (fault) {
    if (fault instanceof Problem)
      tell({
        refused: fault.message,
        code: fault.code as ErrorCode,
        cause: String((fault.cause as Error | undefined)?.message ?? ''),
      });
    else tell({ fault: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) });
  }
}
