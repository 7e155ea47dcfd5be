import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { checkoutFiles } from '../support/sources.js';

const MOST = 400;

describe('files stay small', () => {
  it(`none of the sources has more than ${MOST} lines`, () => {
    const files = checkoutFiles().filter((path) => /\.(ts|mjs|cjs|js|py|css|html)$/.test(path));
    expect(files.length).to.be.greaterThan(500);
    const lines = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8').split('\n').length - 1]));
    expect([...lines].filter(([, count]) => count > MOST)).to.deep.equal([]);
  });
});
