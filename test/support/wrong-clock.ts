import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const LIBRARIES = '/usr/lib';

/** Where libfaketime is; undefined where it is not installed: what it would show is then pending, not passed. */
export function faketime(): string | undefined {
  const places = [LIBRARIES, ...readdirSync(LIBRARIES).map((name) => join(LIBRARIES, name))];
  return places.map((place) => join(place, 'faketime', 'libfaketimeMT.so.1')).find(existsSync);
}

/**
 * The wall clock of processes that are started with its `environment`: it can be set forwards and backwards while they
 * run.
 */
export class WrongClock {
  constructor(
    private readonly library: string,
    private readonly file: string,
  ) {
    this.set(0);
  }

  /**
   * By so many seconds it is ahead from now on: of the clock that the tests have, which may be moved itself. How long
   * something takes is measured as before.
   */
  set(seconds: number): void {
    const ahead = seconds + Number(process.env.FAKETIME ?? 0);
    writeFileSync(`${this.file}.new`, `${ahead < 0 ? '-' : '+'}${Math.abs(ahead)}\n`, { mode: 0o644 });
    renameSync(`${this.file}.new`, this.file);
  }

  get environment(): NodeJS.ProcessEnv {
    return {
      LD_PRELOAD: this.library,
      // It would count for more than the file.
      FAKETIME: undefined,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }
}
