import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openapi } from '../../api/http/openapi/document.js';
import { documentedRoutes } from '../../api/routes.js';
import { root } from '../support/environment.js';

interface Operation {
  operationId: string;
}
interface Described {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
}

describe('Operation ids of the contract', () => {
  const { paths, webhooks } = openapi(documentedRoutes) as unknown as Described;
  const ids = [...Object.values(paths), ...Object.values(webhooks)]
    .flatMap((operations) => Object.values(operations))
    .map(({ operationId }) => operationId);
  const released = JSON.parse(
    readFileSync(join(root, 'test', 'contract', 'operation-ids.json'), 'utf8'),
  ) as readonly string[];

  it('each is unique, begins with a verb in lower case and has at most 40 characters', () => {
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids.filter((id) => !/^[a-z][a-zA-Z0-9]{2,39}$/.test(id))).to.deep.equal([]);
  });

  it('none that programs use is gone, and a new one is added to operation-ids.json', () => {
    expect(
      released.filter((id) => !ids.includes(id)),
      'removed or renamed',
    ).to.deep.equal([]);
    expect(
      ids.filter((id) => !released.includes(id)),
      'to be added to operation-ids.json, where the list is sorted',
    ).to.deep.equal([]);
    expect([...released].sort()).to.deep.equal(released);
  });
});
