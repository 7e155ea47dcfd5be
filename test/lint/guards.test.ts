import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { guards } from '../guards/guards.js';
import { root } from '../support/environment.js';

const files = new Map<string, string>();
function textOf(path: string): string {
  const text = files.get(path) ?? (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');
  files.set(path, text);
  return text;
}

describe('The guards that npm run test:guards takes out', () => {
  it('are each there, once, and another text without them', () => {
    const faults = guards
      .filter(({ file, text, without }) => textOf(file).split(text).length !== 2 || text === without)
      .map(({ refuses, file, text }) => `${refuses}: ${file} contains it ${textOf(file).split(text).length - 1} times`);
    expect(faults).to.deep.equal([]);
  });

  it('have each a test that is there, and a sentence of their own', () => {
    expect(guards.filter(({ test }) => textOf(test) === '').map(({ test }) => test)).to.deep.equal([]);
    const hidden = guards.filter(({ test, title }) => {
      const text = textOf(test);
      return text.includes(title) && !['"', "'", '`'].some((quote) => text.includes(quote + title));
    });
    expect(
      hidden.map(({ test, title }) => `${test}: no title begins with “${title}”`),
      'a title is looked for from its beginning',
    ).to.deep.equal([]);
    const sentences = guards.map(({ refuses }) => refuses);
    expect(sentences.filter((one, index) => sentences.indexOf(one) !== index)).to.deep.equal([]);
  });
});
