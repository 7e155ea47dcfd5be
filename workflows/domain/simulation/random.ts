/**
 * Random numbers for simulations: the sfc32 generator (Chris Doty-Humphrey, public domain), with 32-bit integers only,
 * so that the same seed gives the same numbers on every machine. Each stream of a seed is a separate sequence: one
 * participant's draws do not affect another's.
 */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private counter = 1;

  /** @param seed an integer from 0 to 2^53 - 1 */
  constructor(seed: number, stream: number) {
    this.a = mix(seed >>> 0);
    this.b = mix(Math.floor(seed / 2 ** 32) ^ 0x9e3779b9);
    this.c = mix(stream ^ 0x85ebca6b);
    // Seeds that differ in one bit begin alike: the first numbers are discarded.
    for (let i = 0; i < 12; i++) this.bits();
  }

  private bits(): number {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number {
    return this.bits() / 2 ** 32;
  }
  chance(probability: number): boolean {
    return this.next() < probability;
  }
  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /**
   * Waiting days: mostly short, rarely long (geometric, with this mean), at most four times the mean. Computed trial by
   * trial: a logarithm may differ in its last digit between platforms.
   */
  days(mean: number): number {
    const most = Math.ceil(mean * 4);
    const stop = 1 / (mean + 1);
    let days = 0;
    while (days < most && !this.chance(stop)) days++;
    return days;
  }
}

/** Spreads the bits of a number over all 32 (murmur3's finalizer). */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) | 0;
}
