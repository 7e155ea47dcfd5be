import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { paletteCss } from '../../activities/html/palette.js';
import { root } from '../support/environment.js';

/** The styles of pages, and the code that writes them. */
const sources = ['api', 'activities'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:css|js|tsx?)$/.test(name))
    .map((name) => join(folder, name)),
);

describe('the themes of pages', () => {
  it('differ in the values of the palette alone: what axe finds of anything else, it finds in either', () => {
    const names = (block: string) => [...block.matchAll(/([\w-]+):/g)].map(([, name]) => name);
    for (const kind of ['auto', 'chosen'] as const) {
      const blocks = [...paletteCss(kind).matchAll(/\{ ([^{}]+) \}/g)].map(([, block]) => names(block!));
      expect(blocks.length).to.be.at.least(2);
      for (const block of blocks) {
        expect(block).to.deep.equal(blocks[0]);
        expect(block.every((name) => name!.startsWith('--') || name === 'color-scheme')).to.equal(true);
      }
    }
    const tellThemesApart = sources.filter((path) =>
      /prefers-color-scheme|\[data-theme/.test(readFileSync(join(root, path), 'utf8')),
    );
    expect(tellThemesApart).to.deep.equal([join('activities', 'html', 'palette.ts')]);
  });

  it('are light on paper, also where the dark one was chosen', () => {
    for (const kind of ['auto', 'chosen'] as const) {
      const lines = paletteCss(kind).split('\n').filter(Boolean);
      for (const line of lines.filter((one) => one.includes('color-scheme: dark')))
        expect(line).to.match(/^@media screen /);
    }
  });
});
