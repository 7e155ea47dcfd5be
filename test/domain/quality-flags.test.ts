import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('docs/quality-flags.md', () => {
  it('has a row for each flag that there is, with its reason, and no other', () => {
    const flagged = [
      ...read('workflows/domain/assessment/quality.ts').matchAll(/\bflag\('([A-Z_]+)'/g),
      ...read('workflows/domain/assessment/times.ts').matchAll(/code: '([A-Z_]+)',/g),
    ].map(([, code]) => code!);
    const rows = [...read('docs/quality-flags.md').matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \|$/gm)];
    expect(new Set(rows.map(([, code]) => code))).to.deep.equal(new Set(flagged));
    for (const [, code, rule, reason] of rows) expect([rule!.trim(), reason!.trim()], code).not.to.include('');
  });
});
