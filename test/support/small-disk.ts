import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  rmdirSync,
  statSync,
  statfsSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../scripts/runtime/processes.js';

const CHUNK = Buffer.alloc(64 * 1024, 1);

/** A disk of a size, that can be filled up and emptied again. */
export class SmallDisk {
  private constructor(readonly path: string) {}

  /**
   * Undefined for who may not mount one: only who administers the machine may. What it would show is then pending, not
   * passed.
   */
  static mount(size: string): SmallDisk | undefined {
    const place = mkdtempSync(join(tmpdir(), 'full-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'full-disk', place], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
    } catch {
      rmdirSync(place);
      return undefined;
    }
    // As root, PostgreSQL runs as another user and must be able to pass through.
    chmodSync(place, 0o711);
    return new SmallDisk(place);
  }

  private get ballast(): string {
    return join(this.path, 'ballast');
  }

  /** Fills it up but for so many bytes. */
  fill(room: number): void {
    const file = openSync(this.ballast, 'w');
    try {
      for (;;) writeSync(file, CHUNK);
    } catch (fault) {
      if (errorCode(fault) !== 'ENOSPC') throw fault;
    } finally {
      closeSync(file);
    }
    truncateSync(this.ballast, statSync(this.ballast).size - room);
  }

  room(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  empty(): void {
    rmSync(this.ballast, { force: true });
  }

  unmount(): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmdirSync(this.path);
  }
}
