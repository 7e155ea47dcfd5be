import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { envExample } from '../../settings.js';
import { root } from '../support/environment.js';

describe('.env.example', () => {
  it('is what the settings say: every one with its default', () => {
    expect(readFileSync(join(root, '.env.example'), 'utf8')).to.equal(envExample());
  });
});
