import { expect } from 'chai';
import { document } from '../support/contract.js';
import { Stage } from '../anchor/stage.js';
import { makeWorld } from '../contract/world.js';
import type { World } from '../contract/world.js';
import { Http } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';

interface Parameter {
  name: string;
  in: string;
  schema: { type?: string; minimum?: number; maximum?: number };
}
interface Operation {
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
}
const { paths } = document as unknown as {
  paths: Record<string, Record<string, Operation>>;
};

/** What programs send as numbers by mistake, and what is no number here. */
const NO_NUMBERS = [
  'Infinity',
  '-Infinity',
  '+Infinity',
  'infinity',
  'NaN',
  '1e999',
  '-1e999',
  `${'9'.repeat(400)}`,
  '0x10',
  '0b1',
  ' 5',
  '5 ',
  '5_0',
  '٣',
  'null',
  'undefined',
  '',
];
const EXTREME = [
  '1e308',
  '-1',
  '1e-400',
  '9007199254740993',
  '2147483648',
  '-9223372036854775809',
  '1.5',
  '999999999999999999999',
];
const TEXTS = [
  `'; select pg_sleep(0); --`,
  '%',
  '%00',
  '\u0000',
  '\ud800',
  '\u{1f9ea}'.repeat(50),
  '../../etc/passwd',
  '${7*7}',
  '0000-00-00',
  '9999-12-31T23:59:60Z',
  '-infinity',
  'epoch',
  '99999999-01-01',
  'x'.repeat(3_000),
  '[]',
  '{"a":1}',
];
/** Each a value that a header can have. */
const HEADERS = [
  'Infinity',
  '1e999',
  '-1',
  'NaN',
  `'; --`,
  'bytes=1e999-Infinity',
  'bytes=-99999999999999999999999',
  'bytes=99999999999999999999999-',
  'W/"\xff"',
  '9999-12-31T23:59:60+23:59',
  'x'.repeat(2_000),
  '',
];

/** They are read by one function for all operations, before the operation itself. */
const READ_ALIKE: Readonly<Record<string, readonly string[]>> = {
  'header X-Site-ID': HEADERS,
  'header X-Study-ID': HEADERS,
  'query skip': NO_NUMBERS,
  'query limit': NO_NUMBERS,
};
/**
 * Of its values a parameter of an operation is sent one in so many, the next parameter the next ones: each parameter is
 * sent some, and each value goes to many operations.
 */
const ONE_IN = asMuchAs(6, 1),
  ONE_IN_ALIKE = 4;
/** To so many parameters each value goes at the least. */
const TO_AT_LEAST = 8;
/** Free texts of a request that takes long (a document is printed, a thread reads a file): they share a request. */
const TOGETHER: readonly { path: string; first: string; others: readonly string[] }[] = [
  { path: '/api/reports/studies/{study_id}/pdf/summary', first: 'site_code', others: ['arm'] },
  { path: '/api/studies/import/full', first: 'study_code', others: ['study_name'] },
];

/** They end a login or what they are called for, or they count for everybody. */
const LEFT_OUT = /^\/api\/(?:auth|portal\/(?:logout|session)|metrics\/reset)|\/(?:erase|withdraw)$/;

describe('A hostile parameter', function suite() {
  this.timeout(480_000);
  let stage: Stage;
  let world: World;
  const callers = new Map<string, Http>();
  before(async () => {
    stage = await Stage.open();
    world = await makeWorld(stage);
    callers.set('bearer', stage.admin);
    callers.set('scoped', new Http(world.api, world.scoped_token));
    callers.set('portal', new Http(world.api, world.portal_token));
    callers.set('nobody', new Http(world.api));
  });
  after(() => stage.close());

  const callerOf = ({ security = [] }: Operation): Http => {
    const schemes = security.flatMap((one) => Object.keys(one));
    const kind = schemes.includes('scoped')
      ? 'scoped'
      : schemes.includes('bearer')
        ? 'bearer'
        : schemes.length > 0
          ? 'portal'
          : 'nobody';
    return callers.get(kind)!;
  };
  const placeOf = (path: string): string =>
    path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(world.ids[name] ?? whole));

  interface Try {
    method: string;
    path: string;
    operation: Operation;
    parameter: Parameter;
    value: string;
  }
  /** What is wrong with the answer; undefined: nothing. */
  async function faultOf({ method, path, operation, parameter, value }: Try): Promise<string | undefined> {
    const title = `${method} ${path} ${parameter.in} ${parameter.name}=${JSON.stringify(value.slice(0, 40))}`;
    const { others = [] } = TOGETHER.find((one) => one.path === path && one.first === parameter.name) ?? {};
    const sent = encodeURIComponent(value.isWellFormed() ? value : '\ufffd');
    const query = [parameter.name, ...others].map((name) => `${name}=${sent}`).join('&');
    const at = parameter.in === 'query' ? `${placeOf(path)}?${query}` : placeOf(path);
    const http = callerOf(operation);
    try {
      const { status, text } = await http.send(method, at, method === 'GET' ? undefined : {}, {
        ...(parameter.in === 'header' && { headers: { [parameter.name]: value } }),
      });
      if (status >= 500 && status !== 503) return `${title}: ${status} ${text.slice(0, 200)}`;
      const isNumber = parameter.schema.type === 'integer' || parameter.schema.type === 'number';
      const taken = status !== 422 && status !== 404 && status !== 403;
      if (isNumber && taken && NO_NUMBERS.includes(value)) return `${title}: taken, ${status} ${text.slice(0, 100)}`;
    } catch (fault) {
      return `${title}: ${String(fault).slice(0, 300)}`;
    }
    return undefined;
  }
  async function faultsOf(tries: readonly Try[]): Promise<string[]> {
    const faults: string[] = [];
    const open = [...tries];
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let next = open.pop(); next; next = open.pop()) {
          const fault = await faultOf(next);
          if (fault !== undefined) faults.push(fault);
        }
      }),
    );
    return faults;
  }

  const parametersOf = (where: string) =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([lower, operation]) => {
        const method = lower.toUpperCase();
        if (method !== 'GET' && LEFT_OUT.test(path)) return [];
        return (operation.parameters ?? [])
          .filter((parameter) => parameter.in === where)
          .filter(({ name }) => method !== 'DELETE' || name === 'If-Match')
          .filter(({ name }) => !TOGETHER.some((one) => one.path === path && one.others.includes(name)))
          .map((parameter) => ({ method, path, operation, parameter }));
      }),
    );

  const placeOfParameter = ({ in: where, name }: Parameter) => `${where} ${name}`;
  /** Each parameter with its share of the values. */
  const triesOf = (where: string, valuesOf: (parameter: Parameter) => readonly string[]): Try[] =>
    parametersOf(where).flatMap((one, turn) => {
      const alike = READ_ALIKE[placeOfParameter(one.parameter)] ?? [];
      return valuesOf(one.parameter)
        .filter((value, place) => {
          const at = alike.indexOf(value);
          return at < 0 ? (place + turn) % ONE_IN === 0 : (at + turn) % ONE_IN_ALIKE === 0;
        })
        .map((value) => ({ ...one, value }));
    });
  function expectEveryValue(where: string, tries: readonly Try[], values: readonly string[]): void {
    const sentTo = (place: string | undefined, value: string) =>
      tries.filter((one) => one.value === value && (place === undefined || placeOfParameter(one.parameter) === place));
    for (const value of values) expect(sentTo(undefined, value).length, value).to.be.at.least(TO_AT_LEAST);
    for (const [place, own] of Object.entries(READ_ALIKE).filter(([name]) => name.startsWith(where)))
      for (const value of own) expect(sentTo(place, value).length, `${place}=${value}`).to.be.at.least(TO_AT_LEAST);
    const nameOf = ({ method, path, parameter }: Omit<Try, 'value'>) => `${method} ${path} ${parameter.name}`;
    const tried = new Set(tries.map(nameOf));
    expect(
      parametersOf(where)
        .map(nameOf)
        .filter((name) => !tried.has(name)),
      'sent nothing',
    ).to.deep.equal([]);
  }

  it('of a query is refused or answered, never a 500; what is no number is no number', async () => {
    const tries = triesOf('query', ({ schema: { type } }) =>
      type === 'integer' || type === 'number'
        ? [...NO_NUMBERS, ...EXTREME]
        : [...NO_NUMBERS.slice(0, 2), ...EXTREME.slice(0, 2), ...TEXTS],
    );
    expectEveryValue('query', tries, [...NO_NUMBERS, ...EXTREME, ...TEXTS]);
    expect(await faultsOf(tries)).to.deep.equal([]);
  });

  it('of a header is refused or answered, never a 500', async () => {
    const tries = triesOf('header', () => HEADERS);
    expectEveryValue('header', tries, HEADERS);
    expect(await faultsOf(tries)).to.deep.equal([]);
  });
});
