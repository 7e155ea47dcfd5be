import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalJson } from '../../db/audit/canonical-json.js';

/** RFC 8785 as it reads, piece by piece. */
function asItReads(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asItReads).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${asItReads(member)}`)
    .join(',')}}`;
}

describe('Canonical JSON (RFC 8785)', () => {
  it('is one text for one content, whatever the order of its members, and the same content again', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }), (value) => {
        const text = canonicalJson(value);
        expect(text).to.equal(asItReads(value));
        expect(JSON.parse(text)).to.deep.equal(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 500 },
    );
  });

  it('sorts by code units, also names that look like numbers, and leaves out what is undefined', () => {
    expect(canonicalJson({ '10': 1, '9': 2, é: 3, z: undefined, '\u{1F600}': 4, '\uFB33': 5 })).to.equal(
      '{"10":1,"9":2,"é":3,"\u{1F600}":4,"\uFB33":5}',
    );
    expect(canonicalJson([undefined, -0, 1e21, 1e-7, '"\\\n\u2028', '\ud800'])).to.equal(
      '[null,0,1e+21,1e-7,"\\"\\\\\\n\u2028","\\ud800"]',
    );
  });

  it('sorts few names and many alike', () => {
    for (const count of [1, 2, 31, 32, 33, 70]) {
      const names = Array.from({ length: count }, (_, i) => `n${(i * 37) % 71}`);
      const value = Object.fromEntries(names.map((name) => [name, name]));
      expect(canonicalJson(value)).to.equal(asItReads(value));
      expect(Object.keys(value)).to.deep.equal(names);
    }
  });

  it('refuses what JSON cannot hold', () => {
    for (const value of [NaN, Infinity, 1n, () => 1, Symbol('x'), { deep: [NaN] }])
      expect(() => canonicalJson(value)).to.throw(TypeError);
  });
});
