import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { registeredErrors } from '../../api/http/errors.js';
import { ANYWHERE } from '../../api/http/openapi/responses.js';
import { document } from '../support/contract.js';
import { root } from '../support/environment.js';

const guide = readFileSync(join(root, 'docs', 'devices.md'), 'utf8');
const section = (title: string): string => {
  const [, text] = guide.split(`\n## ${title}\n`);
  return text!.split('\n## ')[0]!;
};
const code = (text: string): string[] => [...text.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, one]) => one!);

describe('docs/devices.md', () => {
  it('names every status that a route of a device may answer', () => {
    const routes = Object.entries(document.paths).filter(([path]) =>
      /^\/api\/(session\/|submit$|sync\/|portal\/(session|refresh|logout|visits)$|batteries\/\{battery_id\}\/compile$)/.test(
        path,
      ),
    );
    expect(routes.length).to.be.greaterThan(10);
    const named = routes.flatMap(([, methods]) =>
      Object.values(methods).flatMap(({ responses }) => Object.keys(responses)),
    );
    expect(named).to.include('default');
    const statuses = new Set([...named.filter((status) => status !== 'default'), ...ANYWHERE.map(String)]);
    const told = new Set(
      [...section('Every status').matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, numbers]) => numbers!.split(', ')),
    );
    expect([...statuses].filter((status) => !told.has(status))).to.deep.equal([]);
    expect([...told].filter((status) => !statuses.has(status))).to.deep.equal([]);
  });

  it('gives each code the status that it has', () => {
    const known = new Map<string, number>(registeredErrors().map((entry) => [entry.code, entry.status]));
    const rows = [...section('Every status').matchAll(/^\| ([\d, ]+) \| ([^|]*) \|/gm)];
    const wrong = rows.flatMap(([, numbers, codes]) =>
      code(codes!)
        // Beside its registered status a withdrawal is 403 for the participant's own token.
        .filter((one) => one !== 'PARTICIPANT_WITHDRAWN')
        .filter((one) => !numbers!.split(', ').includes(String(known.get(one)))),
    );
    expect(wrong).to.deep.equal([]);
    expect(rows.length).to.be.at.least(20);
  });
});
