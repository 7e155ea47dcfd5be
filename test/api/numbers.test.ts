import { expect } from 'chai';
import { parseJson } from '../../api/http/body/json.js';
import { Problem } from '../../api/http/errors.js';

/** The path that is named, else the value. */
function read(text: string): unknown {
  try {
    return parseJson(Buffer.from(text));
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
    return fault.options.errors?.map(({ path, code }) => [path, code]) ?? fault.code;
  }
}

describe('A number in a body', () => {
  const huge: [text: string, path: string][] = [
    ['{"config":{"n":1e400}}', 'config.n'],
    ['{"n":-1E+309}', 'n'],
    ['[0,1.5e0400]', '1'],
    ['1e309', 'body'],
    [`{"n":${'9'.repeat(310)}}`, 'n'],
    [`[${'9'.repeat(310)}.5]`, '0'],
    ['9'.repeat(310), 'body'],
    [`{"n":${'1'.repeat(250)}e99}`, 'n'],
    [`{"a":"\\"1e5,","n":  ${'1'.repeat(212)}E98  }`, 'n'],
    ['{"a":true,"b":{"c":[[2e999]]}}', 'b.c.0.0'],
  ];
  for (const [text, path] of huge)
    it(`${text.slice(0, 40)} is none, which is told by ${path}`, () =>
      expect(read(text)).to.deep.equal([[path, 'NOT_FINITE']]));

  const numbers: [text: string, value: unknown][] = [
    ['{"n":1e308}', { n: 1e308 }],
    ['{"n":1.7976931348623157E+308}', { n: Number.MAX_VALUE }],
    ['{"n":1e-400}', { n: 0 }],
    ['[9007199254740993.0e-17,9007199254740994]', [0.09007199254740993, 9007199254740994]],
    ['{"n":0.10000000000000001,"m":0.30000000000000004}', { n: 0.1, m: 0.1 + 0.2 }],
    ['{"n":1764040331123456800,"s":"1764040331123456789"}', { n: 1764040331123456800, s: '1764040331123456789' }],
    [`[1${'0'.repeat(300)},0.${'0'.repeat(30)}1]`, [1e300, 1e-31]],
    ['[1764040331.123456789123,0.1234567890123456789]', [1764040331.1234567, 0.12345678901234568]],
    ['{"n":3.14159265358979323846e5}', { n: 314159.26535897935 }],
    ['{"n":"1e400","e999":"Infinity"}', { n: '1e400', e999: 'Infinity' }],
    [`["${'9'.repeat(400)}"]`, ['9'.repeat(400)]],
    [`[1,${' '.repeat(300)}2]`, [1, 2]],
    ['[0.1e2,1E1,true,false,null]', [10, 10, true, false, null]],
  ];
  for (const [text, value] of numbers)
    it(`${text.slice(0, 40)} stays what it is`, () => expect(read(text)).to.deep.equal(value));

  const inexact: [text: string, ...places: string[]][] = [
    ['{"data":{"t_ns":1764040331123456789}}', 'data.t_ns'],
    ['[9007199254740993]', '0'],
    ['[[1, -9007199254740993 ]]', '0.1'],
    ['9007199254740993', 'body'],
    ['{"a":"\\",","b,":[{"c":1,"n":12345678901234567}]}', 'b,.0.n'],
    [`[1,${'1'.repeat(300)}]`, '1'],
    ['{"n":1764040331.123456789123e12}', 'n'],
    ['{"n":9007199254740993.0}', 'n'],
  ];
  for (const [text, path] of inexact)
    it(`${text.slice(0, 40)} cannot be kept as it is, which is told by ${path}`, () =>
      expect(read(text)).to.deep.equal([[path, 'NUMBER_NOT_EXACT']]));

  it('does not hide nesting without end, nor JSON that breaks off', () => {
    expect(read(`[1e400,${'['.repeat(100)}`)).to.equal('MALFORMED_JSON');
    expect(read('{"n":1e400,"s":"')).to.equal('MALFORMED_JSON');
  });
});
