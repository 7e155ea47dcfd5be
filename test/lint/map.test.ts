import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { mapFaults, mapText } from '../../scripts/map/document.js';
import { features } from '../../scripts/map/folders.js';
import { root } from '../support/environment.js';

describe('docs/MAP.md', () => {
  /** All sources are read for it. */
  const map = mapText(root);

  it('describes every feature and every folder of a layer, and names files that are there', () => {
    expect(mapFaults(root)).to.deep.equal([]);
  });

  it('is one page, with a line for each feature', () => {
    const lines = map.split('\n');
    expect(lines.length).to.be.at.most(90);
    for (const feature of Object.keys(features))
      expect(lines.filter((line) => line.startsWith(`| ${feature} |`))).to.have.length(1);
  });

  it('links to what is there', () => {
    const links = [...map.matchAll(/\]\(\.\.\/([^)#]+)/g)].map(([, path]) => path!);
    expect(links.filter((path) => !existsSync(join(root, path)))).to.deep.equal([]);
  });

  it('is of the code as it is (npm run map)', () => {
    expect(readFileSync(join(root, 'docs', 'MAP.md'), 'utf8')).to.equal(map);
  });

  it('tells what imports what, and which folder nobody has described', () => {
    const folder = mkdtempSync(join(tmpdir(), 'map-'));
    try {
      for (const top of ['api', 'workflows/domain', 'activities', 'db', 'scripts', 'test', 'api/unheard-of'])
        mkdirSync(join(folder, top), { recursive: true });
      writeFileSync(join(folder, 'api', 'unheard-of', 'b.ts'), '');
      writeFileSync(
        join(folder, 'api', 'a.ts'),
        `import { b } from '../db/b.js';\nimport type { C } from '../workflows/domain/c.js';\nexport const a: C = b;\n`,
      );
      const text = mapText(folder);
      expect(text)
        .to.contain('  api["api"] --> db["db"]')
        .and.contain('  api["api"] -. types .-> workflows_domain["workflows/domain"]')
        .and.contain('| [api](../api) |');
      expect(text).to.match(/^\| \[api\/unheard-of\]\(\.\.\/api\/unheard-of\) \| \*\*not described yet/m);
      expect(mapFaults(folder)).to.include.members([
        'api/unheard-of is not described in scripts/map/folders.ts',
        'api begins in scripts/map/folders.ts at api/main.ts, which is not there',
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
