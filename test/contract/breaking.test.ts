import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { undecided } from '../../scripts/contract/allowed.js';
import type { Json } from '../../scripts/contract/alternatives.js';
import { readBase } from '../../scripts/contract/base.js';
import { breakingChanges } from '../../scripts/contract/breaking.js';
import { root } from '../support/environment.js';

const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });
const object = (properties: Json, required: string[] = [], rest: Json = {}) => ({
  type: 'object',
  properties,
  required,
  ...rest,
});
const text = { type: 'string' };
const whole = { type: 'integer' };
const anything: Json = {};

/** A contract of one operation. */
const api = (operation: Json, rest: Json = {}): Json => ({
  openapi: '3.1.0',
  paths: { '/things/{id}': { post: { operationId: 'doIt', responses: {}, ...operation } } },
  ...rest,
});
const taking = (schema: unknown, rest: Json = {}) => api({ requestBody: json(schema) }, rest);
const answering = (schema: unknown, rest: Json = {}) =>
  api({ responses: { 200: { headers: { ETag: {} }, ...json(schema) } } }, rest);
const query = (name: string, schema: unknown, required = false) => ({
  parameters: [{ name, in: 'query', required, schema }],
});
const told = (before: Json, now: Json) => breakingChanges(before, now).map(({ rule, at }) => `${rule} ${at}`);
const AT = 'POST /things/{id}';

/** What breaks a caller: the rule that says so, and where. */
const breaking: [string, Json, Json, string][] = [
  ['a path is gone', api({}), { paths: {} }, `operation-removed ${AT}`],
  ['a method is gone', api({}), { paths: { '/things/{id}': { get: {} } } }, `operation-removed ${AT}`],
  ['an operation is renamed', api({}), api({ operationId: 'doThat' }), `operation-id-changed ${AT}`],
  ['a parameter is gone', api(query('q', text)), api({}), `parameter-removed ${AT} query q`],
  ['a parameter is new and required', api({}), api(query('q', text, true)), `parameter-required ${AT} query q`],
  [
    'a parameter becomes required',
    api(query('q', text)),
    api(query('q', text, true)),
    `parameter-required ${AT} query q`,
  ],
  ['a parameter’s type', api(query('q', text)), api(query('q', whole)), `request-narrowed ${AT} query q`],
  [
    'a parameter’s words',
    api(query('q', { enum: ['a', 'b'] })),
    api(query('q', { enum: ['a'] })),
    `request-narrowed ${AT} query q`,
  ],
  [
    'a body becomes required',
    api({ requestBody: json(anything) }),
    api({ requestBody: { ...json(anything), required: true } }),
    `body-required ${AT}`,
  ],
  ['a body is gone', taking(text), api({}), `body-removed ${AT}`],
  [
    'a media type is gone',
    api({ requestBody: { content: { 'text/csv': { schema: text } } } }),
    taking(text),
    `media-type-removed ${AT} body text/csv`,
  ],
  ['a field is gone', taking(object({ a: text })), taking(object({}, [], { additionalProperties: false })), ''],
  [
    'a field becomes required',
    taking(object({ a: text })),
    taking(object({ a: text }, ['a'])),
    `request-field-required ${AT} body.a`,
  ],
  [
    'a new field is required',
    taking(object({})),
    taking(object({ a: text }, ['a'])),
    `request-field-required ${AT} body.a`,
  ],
  ['a field’s type', taking(object({ a: whole })), taking(object({ a: text })), `request-narrowed ${AT} body.a`],
  ['null is not taken', taking({ type: ['string', 'null'] }), taking(text), `request-narrowed ${AT} body`],
  ['a text has words', taking(text), taking({ enum: ['a'] }), `request-narrowed ${AT} body`],
  [
    'a longest length',
    taking({ ...text, maxLength: 9 }),
    taking({ ...text, maxLength: 8 }),
    `request-narrowed ${AT} body`,
  ],
  ['a first longest length', taking(text), taking({ ...text, maxLength: 8 }), `request-narrowed ${AT} body`],
  ['a least length', taking(text), taking({ ...text, minLength: 1 }), `request-narrowed ${AT} body`],
  ['a least number', taking({ ...whole, minimum: 0 }), taking({ ...whole, minimum: 1 }), `request-narrowed ${AT} body`],
  [
    'a least number that is not taken itself',
    taking({ type: 'number', minimum: 0 }),
    taking({ type: 'number', exclusiveMinimum: 1 }),
    `request-narrowed ${AT} body`,
  ],
  ['a largest number', taking(whole), taking({ ...whole, maximum: 5 }), `request-narrowed ${AT} body`],
  ['a pattern', taking(text), taking({ ...text, pattern: '^a' }), `request-narrowed ${AT} body`],
  ['a format', taking(text), taking({ ...text, format: 'uuid' }), `request-narrowed ${AT} body`],
  [
    'items of a list',
    taking({ type: 'array', items: text }),
    taking({ type: 'array', items: whole }),
    `request-narrowed ${AT} body[]`,
  ],
  [
    'one of several kinds is gone',
    taking({ anyOf: [text, whole] }),
    taking({ oneOf: [text] }),
    `request-narrowed ${AT} body`,
  ],
  [
    'fields of any name',
    taking(object({})),
    taking(object({}, [], { additionalProperties: false })),
    `request-narrowed ${AT} body`,
  ],
  [
    'values of a map',
    taking(object({}, [], { additionalProperties: text })),
    taking({ type: 'object', patternProperties: { '^.*$': whole } }),
    `request-narrowed ${AT} body.*`,
  ],
  ['a credential is needed', api({ security: [] }), api({ security: [{ bearer: [] }] }), `security-narrowed ${AT}`],
  [
    'a credential is no good any more',
    api({ security: [{ bearer: [] }, { cookie: [] }] }),
    api({ security: [{ bearer: [] }] }),
    `security-narrowed ${AT}`,
  ],
  ['a status is gone', answering(text), api({}), `status-removed ${AT} 200`],
  ['a header is gone', answering(text), api({ responses: { 200: json(text) } }), `header-removed ${AT} 200 ETag`],
  [
    'an answer has no content',
    answering(text),
    api({ responses: { 200: { headers: { ETag: {} } } } }),
    `media-type-removed ${AT} 200 application/json`,
  ],
  [
    'a field of an answer is gone',
    answering(object({ a: text })),
    answering(object({})),
    `answer-field-removed ${AT} 200.a`,
  ],
  [
    'a field of an answer may be missing',
    answering(object({ a: text }, ['a'])),
    answering(object({ a: text })),
    `answer-field-optional ${AT} 200.a`,
  ],
  [
    'an answer’s type',
    answering(object({ a: whole })),
    answering(object({ a: text })),
    `answer-type-changed ${AT} 200.a`,
  ],
  ['an answer may be null', answering(text), answering({ type: ['string', 'null'] }), `answer-type-changed ${AT} 200`],
  ['an answer’s format', answering({ ...text, format: 'date' }), answering(text), `answer-type-changed ${AT} 200`],
  [
    'a whole number may be a broken one',
    answering(whole),
    answering({ type: 'number' }),
    `answer-type-changed ${AT} 200`,
  ],
  [
    'items of an answer’s list',
    answering({ type: 'array', items: object({ a: text }) }),
    answering({ type: 'array', items: object({}) }),
    `answer-field-removed ${AT} 200[].a`,
  ],
  [
    'an event is not sent any more',
    { paths: {}, webhooks: { GONE: { post: {} } } },
    { paths: {} },
    'webhook-removed POST GONE',
  ],
  [
    'an event lacks a field',
    { paths: {}, webhooks: { SET: { post: { requestBody: json(object({ a: text })) } } } },
    { paths: {}, webhooks: { SET: { post: { requestBody: json(object({})) } } } },
    'answer-field-removed POST SET body.a',
  ],
];

const failing = (status: string | number, schema: unknown) => api({ responses: { [status]: json(schema) } });
breaking.push(
  ['a status other than an error is no default', answering(text), failing('default', text), `status-removed ${AT} 200`],
  [
    'the default error is another',
    failing(404, object({ a: text })),
    failing('default', object({})),
    `answer-field-removed ${AT} 404.a`,
  ],
);

/** What breaks nobody, and the same said otherwise. */
const harmless: [string, Json, Json][] = [
  ['a new operation', { paths: {} }, api({})],
  ['a new optional parameter', api({}), api(query('q', text))],
  ['a new optional field', taking(object({ a: text })), taking(object({ a: text, b: text }))],
  ['a field that need not be there any more', taking(object({ a: text }, ['a'])), taking(object({ a: text }))],
  ['a wider type', taking(whole), taking({ type: ['number', 'null'] })],
  ['more words', taking({ enum: ['a'] }), taking({ enum: ['a', 'b'] })],
  ['looser bounds', taking({ ...text, minLength: 2, maxLength: 3 }), taking({ ...text, minLength: 1, maxLength: 4 })],
  ['a new field of an answer', answering(object({ a: text })), answering(object({ a: text, b: text }, ['b']))],
  ['a new word of an answer', answering({ enum: ['a'] }), answering({ enum: ['a', 'b'] })],
  ['an answer that is never null any more', answering({ type: ['string', 'null'] }), answering(text)],
  ['another way in', api({ security: [{ bearer: [] }] }), api({ security: [{ bearer: [] }, { cookie: [] }] })],
  ['a new status', api({}), answering(text)],
  ['an error by default', failing(404, object({ a: text })), failing('default', object({ a: text }))],
  [
    'another name of a parameter in the path',
    api({}),
    { paths: { '/things/{thing_id}': { post: { operationId: 'doIt' } } } },
  ],
  [
    'a header in other letters',
    api({ parameters: [{ name: 'X-A', in: 'header' }] }),
    api({ parameters: [{ name: 'x-a', in: 'header' }] }),
  ],
  ['a list of types as oneOf', taking({ type: ['string', 'object'] }), taking({ oneOf: [text, object({})] })],
  ['null as anyOf, and as nullable', answering({ type: ['string', 'null'] }), answering({ ...text, nullable: true })],
  ['const as enum', taking({ const: 'a' }), taking({ enum: ['a'] })],
  ['above 0 as at least 1', taking({ ...whole, exclusiveMinimum: 0 }), taking({ ...whole, minimum: 1 })],
  [
    'patternProperties as additionalProperties',
    answering({ type: 'object', patternProperties: { '^.*$': text } }),
    answering({ type: 'object', additionalProperties: text }),
  ],
  [
    'a shape by its name',
    answering({ type: 'array', items: object({ a: text }, ['a']) }),
    answering(
      { type: 'array', items: { $ref: '#/components/schemas/Thing', description: 'a thing' } },
      { components: { schemas: { Thing: object({ a: { $ref: '#/components/schemas/Name' } }, ['a']), Name: text } } },
    ),
  ],
  [
    'a shape in parts',
    answering(object({ a: text, b: text })),
    answering({ allOf: [object({ a: text }), object({ b: text })] }),
  ],
];

describe('Breaking changes of the contract', () => {
  for (const [title, before, now, expected] of breaking)
    it(`${title}: refused`, () =>
      expect(told(before, now)).to.deep.equal(
        expected === '' ? [`request-field-removed ${AT} body.a`, `request-narrowed ${AT} body`] : [expected],
      ));
  for (const [title, before, now] of harmless)
    it(`${title}: breaks nobody`, () => expect(told(before, now)).to.deep.equal([]));

  it('a shape that refers to itself is compared once, and what is wrong in it is found', () => {
    const tree = (leaf: Json) => ({
      components: {
        schemas: {
          Tree: object({
            leaf,
            kids: { type: 'array', items: { $ref: '#/components/schemas/Tree', description: 'k' } },
          }),
        },
      },
    });
    const reference = { $ref: '#/components/schemas/Tree' };
    expect(told(answering(reference, tree(text)), answering(reference, tree(text)))).to.deep.equal([]);
    expect(told(answering(reference, tree(text)), answering(reference, tree(whole)))).to.deep.equal([
      `answer-type-changed ${AT} 200.leaf`,
    ]);
    expect(() => told(answering(reference), answering(text))).to.throw('is not there');
  });

  it('a decision allows its own break alone, and one that nothing needs is noticed', () => {
    const breaks = breakingChanges(answering(object({ a: text, b: text })), answering(object({})));
    const one = { rule: 'answer-field-removed', at: /\.a$/, reason: 'nobody read it' } as const;
    const other = { rule: 'body-removed', at: /^/, reason: 'long ago' } as const;
    const left = undecided(breaks, [one, other]);
    expect(left.breaks.map(({ at }) => at)).to.deep.equal([`${AT} 200.b`]);
    expect(left.unused).to.deep.equal([other]);
  });

  it('docs/openapi.json breaks no caller of the last release (npm run contract:breaking)', () => {
    const base = readBase(root);
    expect(Object.keys(base.paths as Json).length).to.be.greaterThan(150);
    const document = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')) as Json;
    expect(undecided(breakingChanges(base, document))).to.deep.equal({ breaks: [], unused: [] });
  });
});
