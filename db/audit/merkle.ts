import { createHash } from 'node:crypto';
import { yieldAfter } from '../client/yield-after.js';

/*
 * Merkle trees in the manner of RFC 6962, section 2.1: leaf = SHA-256(0x00 ‖ data), node = SHA-256(0x01 ‖ left ‖
 * right), split at the largest power of two below the size. Here a leaf's data are the 32 bytes of an audit record's
 * hash.
 */
const LEAF = Buffer.of(0),
  NODE = Buffer.of(1);
export const leafHash = (data: Buffer): Buffer => createHash('sha256').update(LEAF).update(data).digest();
const nodeHash = (left: Buffer, right: Buffer): Buffer =>
  createHash('sha256').update(NODE).update(left).update(right).digest();

/**
 * Grows by one leaf at a time and stores only the roots of its full subtrees: some twenty hashes for a million leaves.
 */
export class GrowingTree {
  /** Of the full subtrees from the largest to the smallest; their sizes are the powers of two in `size`. */
  constructor(
    public size = 0,
    private readonly peaks: Buffer[] = [],
  ) {}

  /** @param peaks as `peaksText` wrote them; undefined: they cannot be of a tree of this size */
  static from(size: number, peaks: string): GrowingTree | undefined {
    const hashes = peaks === '' ? [] : peaks.split(',').map((hex) => Buffer.from(hex, 'hex'));
    if (hashes.length !== size.toString(2).replaceAll('0', '').length || hashes.some((hash) => hash.length !== 32))
      return undefined;
    return new GrowingTree(size, hashes);
  }

  append(data: Buffer): void {
    let hash = leafHash(data);
    for (let full = this.size; full % 2 === 1; full = (full - 1) / 2) hash = nodeHash(this.peaks.pop()!, hash);
    this.peaks.push(hash);
    this.size += 1;
  }

  /** The tree's root; of the empty tree SHA-256 of nothing. */
  root(): Buffer {
    if (this.peaks.length === 0) return createHash('sha256').digest();
    return this.peaks.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), this.peaks.at(-1)!);
  }

  peaksText(): string {
    return this.peaks.map((hash) => hash.toString('hex')).join(',');
  }
}

/** Leaves' data side by side, 32 bytes each. */
export interface Leaves {
  data: Buffer;
  size: number;
}

/** The largest power of two below `size` (≥ 2). */
const split = (size: number): number => 2 ** Math.floor(Math.log2(size - 1));
const hashAtOnce = ({ data }: Leaves, from: number, to: number): Buffer => {
  if (to - from === 1) return leafHash(data.subarray(32 * from, 32 * to));
  const middle = from + split(to - from);
  return nodeHash(hashAtOnce({ data, size: 0 }, from, middle), hashAtOnce({ data, size: 0 }, middle, to));
};

/** Hashed in one go: a few milliseconds. */
const MOST_AT_ONCE = 512;

/** A proof over many leaves takes seconds of the process: it yields to others in between. */
export class Proofs {
  private readonly serveOthers = yieldAfter();

  constructor(private readonly leaves: Leaves) {}

  /** The audit path of leaf `index` (from 0): section 2.1.1. */
  async inclusion(index: number, from = 0, to = this.leaves.size): Promise<Buffer[]> {
    if (to - from <= 1) return [];
    const middle = from + split(to - from);
    return index < middle
      ? [...(await this.inclusion(index, from, middle)), await this.hashOf(middle, to)]
      : [...(await this.inclusion(index, middle, to)), await this.hashOf(from, middle)];
  }

  /** The proof that the tree of the first `size` leaves begins this one (1 ≤ size ≤ leaves.size): section 2.1.2. */
  async consistency(size: number, from = 0, to = this.leaves.size, whole = true): Promise<Buffer[]> {
    if (size === to) return whole ? [] : [await this.hashOf(from, to)];
    const middle = from + split(to - from);
    return size <= middle
      ? [...(await this.consistency(size, from, middle, whole)), await this.hashOf(middle, to)]
      : [...(await this.consistency(size, middle, to, false)), await this.hashOf(from, middle)];
  }

  private async hashOf(from: number, to: number): Promise<Buffer> {
    await this.serveOthers();
    if (to - from <= MOST_AT_ONCE) return hashAtOnce(this.leaves, from, to);
    const middle = from + split(to - from);
    return nodeHash(await this.hashOf(from, middle), await this.hashOf(middle, to));
  }
}
