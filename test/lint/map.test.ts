import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { mapFaults, mapText } from '../../scripts/map/document.js';
import { root } from '../support/environment.js';

describe('docs/MAP.md', () => {
  it('describes every folder', () => {
    expect(mapFaults(root)).to.deep.equal([]);
  });

  it('is of the code as it is (npm run map)', () => {
    expect(readFileSync(join(root, 'docs', 'MAP.md'), 'utf8')).to.equal(mapText(root));
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
        .and.contain('| `api` |');
      expect(text).to.match(/^\| `api\/unheard-of` \| \*\*not described yet/m);
      expect(mapFaults(folder)).to.include('api/unheard-of is not described in scripts/map/folders.ts');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
