import { chunk } from '../../db/client/sets/chunk.js';
import { CaptureFailure } from './client/failure.js';

/** Records of one export and one transaction, at most. The request's body contains the ids: a few kilobytes. */
const MOST = 250;
/** After a failure, so many times fewer. */
const FEWER = 5;

/**
 * How many records a sync reads at once. Some capture systems cannot deliver many records of a large form (memory, time
 * or the size of an answer): if an export fails and one of a single record succeeds, fewer are requested from then on.
 * An outage changes nothing.
 */
export class BatchSize {
  private size = MOST;
  private most = MOST;
  private failed: number | undefined;

  /** The batches of an attempt. After a failed export a single record is read first. */
  batchesOf(records: readonly string[]): string[][] {
    if (this.failed === undefined) return chunk(records, this.size);
    return [...chunk(records.slice(0, 1), 1), ...chunk(records.slice(1), fewer(this.failed))];
  }

  /** Runs the reading of so many records. @throws its failure */
  async reading<T>(count: number, read: () => Promise<T>): Promise<T> {
    try {
      const result = await read();
      if (this.failed !== undefined && count === 1) this.shrink(this.failed);
      return result;
    } catch (failure) {
      const isTooMuch = failure instanceof CaptureFailure && failure.retryable && !failure.isPutOff;
      if (isTooMuch && count > 1) this.failed = count;
      throw failure;
    }
  }

  /** All batches of an attempt were read: the next ones may be larger, up to half of what failed. */
  grow(): void {
    this.size = Math.min(this.most, this.size * 2);
  }

  private shrink(failed: number): void {
    this.failed = undefined;
    this.size = fewer(failed);
    this.most = Math.max(1, Math.floor(failed / 2));
  }
}

const fewer = (count: number): number => Math.max(1, Math.floor(count / FEWER));

const sizes = new Map<string, BatchSize>();

/** The batch size of a sync, as this process knows it. */
export function batchSizeOf(syncId: string): BatchSize {
  const known = sizes.get(syncId) ?? new BatchSize();
  if (!sizes.has(syncId) && sizes.size >= 1_000) sizes.clear();
  sizes.set(syncId, known);
  return known;
}
