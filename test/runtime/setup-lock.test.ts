import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { until } from '../support/until.js';

/** A script, which runs before anything is built. */
const { withSetupLock } = (await import(pathToFileURL(join(root, 'scripts', 'setup-lock.mjs')).href)) as {
  withSetupLock: (
    path: string,
    work: () => Promise<unknown>,
    say: (line: string) => void,
    silentMs?: number,
  ) => Promise<unknown>;
};

describe('Two starts of one checkout at the same time', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'setup-lock-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** The second start comes while the first one prepares. @returns what the second one said, and the order of both */
  async function twoStarts(silentMs: number | undefined, firstIsDone: (said: string[]) => Promise<unknown>) {
    const lock = join(folder, 'setup.lock');
    const said: string[] = [];
    const order: string[] = [];
    let second: Promise<unknown> = Promise.resolve();
    await withSetupLock(
      lock,
      async () => {
        order.push('first begins');
        second = withSetupLock(
          lock,
          () => Promise.resolve(order.push('second')),
          (line) => said.push(line),
          silentMs,
        );
        // Both have their file, and the second one looks again and again.
        await until(() => readdirSync(folder).length === 3, { what: 'the second start to wait' });
        await firstIsDone(said);
        order.push('first ends');
      },
      () => undefined,
    );
    await second;
    return { said, order };
  }

  it('prepare it one after the other; a moment’s wait is not told, for there may be nothing to build', async () => {
    const { said, order } = await twoStarts(undefined, () => Promise.resolve());
    expect(order).to.deep.equal(['first begins', 'first ends', 'second']);
    expect(said).to.deep.equal([]);
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it('a longer wait is told, once', async () => {
    let looks = 0;
    const { said } = await twoStarts(0, (lines) =>
      until(() => lines.length > 0 && (looks += 1) > 5, { interval: 100 }),
    );
    expect(said).to.deep.equal(['another start of this checkout is installing or building; waiting for it']);
  });
});
