import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect } from 'chai';
import { schema30 } from '../../api/http/openapi/schema-3-0.js';
import { version30 } from '../../api/http/openapi/version-3-0.js';
import { root } from '../support/environment.js';
import { Http } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';

const written = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')) as {
  paths: object;
  components: { schemas: object };
};
const thing = { $ref: '#/components/schemas/Thing' };
/** A schema of 3.1, and the same in the words of 3.0.3. */
const said: [string, unknown, unknown][] = [
  [
    'a type that may be null',
    { type: ['string', 'null'], maxLength: 3 },
    { type: 'string', maxLength: 3, nullable: true },
  ],
  ['null alone', { type: 'null' }, { enum: [null], nullable: true }],
  [
    'several types',
    { type: ['object', 'array', 'null'], description: 'any' },
    { description: 'any', nullable: true, anyOf: [{ type: 'object' }, { type: 'array', items: {} }] },
  ],
  [
    'words or null',
    { type: ['string', 'null'], enum: ['a', null] },
    { type: 'string', enum: ['a', null], nullable: true },
  ],
  ['words alone', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
  ['one value', { type: 'string', const: 'a' }, { type: 'string', enum: ['a'] }],
  [
    'a bound that is not taken',
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'number', format: 'double', minimum: 0, exclusiveMinimum: true },
  ],
  [
    'both bounds, of which the narrower counts',
    { type: 'number', exclusiveMaximum: 9, maximum: 5, exclusiveMinimum: 2, minimum: 2 },
    { type: 'number', format: 'double', maximum: 5, minimum: 2, exclusiveMinimum: true },
  ],
  ['examples', { type: 'integer', examples: [1, 2] }, { type: 'integer', example: 1 }],
  ['a reference', thing, thing],
  ['words beside a reference', { ...thing, description: 'it' }, { description: 'it', allOf: [thing] }],
  ['a reference or null', { anyOf: [thing, { type: 'null' }] }, { type: 'object', nullable: true, allOf: [thing] }],
  [
    'one of two or null',
    { oneOf: [thing, { type: 'string' }, { type: 'null' }] },
    { nullable: true, oneOf: [thing, { type: 'string' }] },
  ],
  [
    'a type or null in an alternative',
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    { nullable: true, type: 'string' },
  ],
  [
    'keys by pattern',
    { type: 'object', patternProperties: { '^a': { type: 'string' } }, additionalProperties: false },
    { type: 'object', additionalProperties: { type: 'string' } },
  ],
  [
    'keys by two patterns, and others',
    {
      type: 'object',
      patternProperties: { '^a': { type: 'string' }, '^b': thing },
      additionalProperties: { type: 'boolean' },
    },
    { type: 'object', additionalProperties: { anyOf: [{ type: 'string' }, thing, { type: 'boolean' }] } },
  ],
  [
    'places of a list',
    { type: 'array', prefixItems: [{ type: 'string' }, thing] },
    { type: 'array', items: { anyOf: [{ type: 'string' }, thing] } },
  ],
  ['a list of anything', { type: 'array' }, { type: 'array', items: {} }],
  [
    'conditions, names of keys and identifiers',
    { type: 'object', if: true, then: false, propertyNames: { maxLength: 3 }, $id: 'a' },
    { type: 'object', 'x-if': true, 'x-then': false, 'x-propertyNames': { maxLength: 3 }, 'x-id': 'a' },
  ],
  ['bytes', { type: 'string', contentMediaType: 'application/octet-stream' }, { type: 'string', format: 'binary' }],
  ['base64', { type: 'string', contentEncoding: 'base64' }, { type: 'string', format: 'byte' }],
  [
    'anything, and nothing',
    { type: 'object', properties: { a: true, b: false } },
    { type: 'object', properties: { a: {}, b: { not: {} } } },
  ],
  [
    'what lies within',
    { type: 'array', items: { type: 'object', additionalProperties: { type: ['integer', 'null'] } } },
    { type: 'array', items: { type: 'object', additionalProperties: { type: 'integer', nullable: true } } },
  ],
];

const types = (reference: string) => (reference.endsWith('/Thing') ? 'object' : undefined);

describe('The contract as OpenAPI 3.0', function () {
  this.timeout(120_000);
  for (const [title, of31, of30] of said)
    it(`${title}`, () => expect(schema30(structuredClone(of31), types)).to.deep.equal(of30));

  it('leaves the document as it is, and tells bodies, answers, headers, callbacks and webhooks in 3.0', () => {
    const or = (schema: object) => ({ content: { 'application/json': { schema } } });
    const nothing = { type: ['string', 'null'] };
    const item = {
      post: {
        parameters: [
          { name: 'a', in: 'query', schema: nothing },
          { $ref: '#/components/parameters/B', description: 'b' },
        ],
        requestBody: or(nothing),
        responses: { 200: { description: 'OK', headers: { E: { schema: nothing } }, ...or(nothing) } },
        callbacks: { done: { '{$url}': { post: { requestBody: or(nothing), responses: {} } } } },
      },
    };
    const given = {
      openapi: '3.1.0',
      jsonSchemaDialect: 'https://example.org',
      info: { title: 'T', version: '1', summary: 's', license: { name: 'L', identifier: 'L' } },
      paths: { '/a': item },
      webhooks: { W: item },
      components: { responses: { R: { description: 'r', ...or(nothing) } }, securitySchemes: {} },
    };
    const before = structuredClone(given);
    const made = version30(given);
    expect(given).to.deep.equal(before);
    const text = JSON.stringify(made);
    expect(text).not.to.include('null"').and.not.to.include('identifier').and.not.to.include('jsonSchemaDialect');
    expect(text.match(/"nullable":true/g)).to.have.length(11);
    expect(made)
      .to.have.nested.property('paths./a.post.parameters[1]')
      .that.deep.equals({ $ref: '#/components/parameters/B' });
    expect(Object.keys(made)).to.include('x-webhooks').and.not.to.include('webhooks');
  });

  it('names that several sections or places have are told apart', () => {
    const made = version30({
      openapi: '3.1.0',
      info: {},
      paths: {
        '/a': {
          get: {
            parameters: [
              { name: 'last_id', in: 'query' },
              { name: 'Last-ID', in: 'header' },
              { $ref: '#/components/parameters/Thing' },
              { name: 'b', in: 'query' },
              { name: 'b', in: 'header', required: true },
            ],
            responses: { 404: { $ref: '#/components/responses/Thing' } },
          },
        },
      },
      components: {
        schemas: { Thing: {} },
        parameters: { Thing: { name: 'b', in: 'path' } },
        responses: { Thing: { description: '' } },
      },
    });
    expect(made)
      .to.have.nested.property('paths./a.get')
      .that.deep.equals({
        parameters: [
          { name: 'last_id', in: 'query', 'x-go-name': 'LastIdQuery' },
          { name: 'Last-ID', in: 'header' },
          { $ref: '#/components/parameters/ThingParameter' },
          { name: 'b', in: 'header', required: true },
        ],
        responses: { 404: { $ref: '#/components/responses/ThingResponse' } },
      });
    expect(made.components).to.deep.equal({
      schemas: { Thing: {} },
      parameters: { ThingParameter: { name: 'b', in: 'path' } },
      responses: { ThingResponse: { description: '' } },
    });
  });

  it('GET /openapi.json?version=3.0 validates, and has every operation and schema of 3.1', async () => {
    const http = new Http((await service()).api);
    const answer = await http.get<Loose & { paths: object; components: { schemas: object } }>(
      '/openapi.json?version=3.0',
    );
    expect([answer.status, answer.body.openapi]).to.deep.equal([200, '3.0.3']);
    expect(Object.keys(answer.body.paths)).to.deep.equal(Object.keys(written.paths));
    expect(Object.keys(answer.body.components.schemas)).to.deep.equal(Object.keys(written.components.schemas));
    const config = await createConfig({ extends: ['spec'] });
    const problems = await lintFromString({ source: answer.text, config });
    expect(problems.map(({ message, location }) => `${location[0]?.pointer}: ${message}`)).to.deep.equal([]);
    // The check sees what is wrong: nullable is no word of 3.1, nor a list of types one of 3.0.
    const wrong = answer.text.replace('"type":"string"', '"type":["string","null"]');
    expect(await lintFromString({ source: wrong, config })).to.have.length.greaterThan(0);
  });

  it('3.1 is the default; an unknown version is refused by its name', async () => {
    const http = new Http((await service()).api);
    const [plain, named] = [await http.get('/openapi.json'), await http.get('/openapi.json?version=3.1')];
    expect([plain.body.openapi, named.text === plain.text]).to.deep.equal(['3.1.0', true]);
    for (const version of ['2.0', '', 'constructor']) {
      const refused = await http.get(`/openapi.json?version=${version}`);
      expect([refused.status, refused.body.errors?.map(({ path, code }) => [path, code])]).to.deep.equal([
        400,
        [['version', 'UNKNOWN_VERSION']],
      ]);
    }
  });
});
