import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { checkoutFiles } from '../support/sources.js';

const MOST = 400;
/** Longer ones, and why. One that has become short enough leaves the list. */
const LONGER: Record<string, string> = {
  'test/api/portal.test.ts': 'one page’s guarantees, on one stage',
};

describe('files stay small', () => {
  it(`none of the sources has more than ${MOST} lines without a reason`, () => {
    const files = checkoutFiles().filter((path) => /\.(ts|mjs|cjs|js|py|css|html)$/.test(path));
    expect(files.length).to.be.greaterThan(500);
    const lines = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8').split('\n').length - 1]));
    expect([...lines].filter(([path, count]) => count > MOST && !(path in LONGER))).to.deep.equal([]);
    expect(Object.keys(LONGER).filter((path) => (lines.get(path) ?? 0) <= MOST), 'short enough').to.deep.equal([]);
  });
});
