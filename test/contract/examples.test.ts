import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { document, holdAgainstContract, templateOf } from '../support/contract.js';
import { root } from '../support/environment.js';
import type { Example } from '../support/examples.js';
import { Http } from '../support/http.js';
import { service } from '../support/service.js';

const examples = JSON.parse(readFileSync(join(root, 'docs', 'examples.json'), 'utf8')) as Record<
  string,
  Omit<Example, 'operationId'>
>;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({ operationId, method: method.toUpperCase(), path })),
);

describe('Examples of the contract (npm run examples)', () => {
  it('every operation has one', () => {
    const missing = operations.map(({ operationId }) => operationId).filter((id) => !(id in examples));
    expect(missing).to.deep.equal([]);
    const known = operations.map(({ operationId }) => operationId);
    expect(Object.keys(examples).filter((id) => !known.includes(id))).to.deep.equal([]);
  });

  it('each is of its operation, and its answer fits the contract', () => {
    const faults: string[] = [];
    for (const { operationId, method, path } of operations) {
      const example = examples[operationId];
      if (!example) continue;
      const { pathname } = new URL(example.request.path, 'http://service');
      expect(templateOf(pathname), operationId).to.equal(path);
      const { status, body, type } = example.response;
      const { content } = document.paths[path]![method.toLowerCase()]!.responses[status] ?? {};
      if (body === undefined && content) expect(type, operationId).to.be.oneOf(Object.keys(content));
      try {
        if (body !== undefined) holdAgainstContract(method, pathname, status, 'application/json', body);
      } catch (fault) {
        faults.push((fault as Error).message);
      }
    }
    expect(faults).to.deep.equal([]);
  });

  it('they are served beside the contract', async () => {
    const answer = await new Http((await service()).api).get('/docs/examples.json');
    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.equal(examples);
  });
});
