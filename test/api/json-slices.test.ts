import { expect } from 'chai';
import { parseInSlices } from '../../api/http/body/json-slices.js';
import { Random } from '../support/random.js';

describe('A long JSON text that is parsed in slices', () => {
  it('is what the parser makes of it, or no JSON where it is none', async function () {
    this.timeout(120_000);
    const chance = new Random(20);
    const below = (end: number) => chance.whole(0, end - 1);
    const pick = <T>(choices: readonly T[]): T => chance.oneOf(choices);
    const blank = () => pick(['', '', ' ', '\n', '\t ']);
    const letter = () => pick(['a', '\\"', '\\\\', '{', '[,', '}', ']', 'é', '\\u0041', '\\n', '😀', '\\ud83d\\ude00']);
    const text = () => `"${Array.from({ length: below(40) }, letter).join('')}"`;
    const many = (one: () => string) => Array.from({ length: below(9) }, one).join(',');
    const name = () => pick(['"a"', '"b"', '"__proto__"', '"k\\"x"', '"1"']);
    const made = (depth: number): string => {
      switch (below(depth > 4 ? 4 : 8)) {
        case 0:
          return text();
        case 1:
          return String(below(9999) / 7);
        case 2:
          return 'null';
        case 3:
          return `-${below(99)}`;
        case 4:
        case 5:
          return `[${blank()}${many(() => blank() + made(depth + 1) + blank())}]`;
        default:
          return `{${many(() => `${blank()}${name()}${blank()}:${blank()}${made(depth + 1)}`)}${blank()}}`;
      }
    };
    const spoilt = (whole: string): string => {
      const at = below(whole.length + 1);
      return pick([
        whole.slice(0, at),
        whole.slice(0, at) + whole.slice(at + 1),
        whole.slice(0, at) + pick(['"', ',', '}', ']', '{', '[', ':', '1', '\\', 'x']) + whole.slice(at),
      ]);
    };
    for (let i = 0; i < 600; i += 1) {
      const whole = blank() + made(0) + blank();
      const source = i % 2 === 0 ? whole : spoilt(whole);
      let wanted: string | undefined;
      try {
        wanted = JSON.stringify(JSON.parse(source));
      } catch (fault) {
        expect(fault).to.be.instanceOf(SyntaxError);
      }
      for (const slice of [1, 7, 40]) {
        const got = await parseInSlices(source, slice).then(JSON.stringify, (fault: unknown) => {
          expect(fault, source).to.be.instanceOf(SyntaxError);
          return undefined;
        });
        expect(got, `${source} in slices of ${slice}`).to.equal(wanted);
      }
    }
  });
});
