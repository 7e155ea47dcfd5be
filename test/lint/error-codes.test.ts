import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { registeredErrors } from '../../api/http/errors.js';
import { root } from '../support/environment.js';
import { checkoutFiles } from '../support/sources.js';

/** Refusals of messages that a person sends to a workflow by hand: no request is answered with them. */
const OF_MESSAGES = ['INVALID_DATE', 'INVALID_DECISION', 'INVALID_MESSAGE', 'PAYLOAD_NOT_SEALED'];
/** Other statuses beside the registered one, as docs/api.md says. */
const OTHER = ['400 VALIDATION_FAILED', '401 PARTICIPANT_WITHDRAWN', '403 PARTICIPANT_WITHDRAWN'];

describe('the codes of errors', () => {
  it('are all in the registry, from which contract and guide are written', () => {
    const registered = new Set(registeredErrors().map(({ code, status }) => `${status} ${code}`));
    const given = new Set<string>();
    for (const path of checkoutFiles().filter((file) => /^(api|activities|workflows)\/.*\.tsx?$/.test(file)))
      for (const [, status, code] of readFileSync(join(root, path), 'utf8').matchAll(
        /\b(?:problemOf|new Problem|rejected|rejection)\(\s*(\d{3}),\s*'([A-Z_]+)'/g,
      ))
        if (!OF_MESSAGES.includes(code!)) given.add(`${status} ${code}`);
    expect(given.size).to.be.at.least(10);
    expect([...given].filter((one) => !registered.has(one)).sort()).to.deep.equal(OTHER);
    const guide = readFileSync(join(root, 'docs', 'api.md'), 'utf8').replaceAll(/\s+/g, ' ');
    for (const one of OTHER) {
      const [status, code] = one.split(' ') as [string, string];
      expect(guide).to.include(`\`${code}\` is ${status} `);
    }
  });
});
