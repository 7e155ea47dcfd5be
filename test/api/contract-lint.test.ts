import { join } from 'node:path';
import { createConfig, lint } from '@redocly/openapi-core';
import { expect } from 'chai';
import { root } from '../support/environment.js';

describe('docs/openapi.json', function suite() {
  this.timeout(120_000);

  it('is clean under a strict ruleset', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const problems = await lint({ ref: join(root, 'docs', 'openapi.json'), config });
    const told = problems
      .map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer ?? '' }))
      // Health is asked without anything that could be wrong: it has no answer of 4xx to document.
      .filter(
        ({ ruleId, at }) => !(ruleId === 'operation-4xx-response' && /^#\/paths\/~1api~1(metrics~1)?health/.test(at)),
      );
    expect(told).to.deep.equal([]);
  });
});
