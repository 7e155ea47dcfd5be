import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { dependenciesText } from '../../scripts/dependencies/document.js';
import { accepted, faults } from '../../scripts/dependencies/scan.js';
import { root } from '../support/environment.js';

describe('dependencies', function suite() {
  const copies: string[] = [];
  after(() => {
    for (const copy of copies) rmSync(copy, { recursive: true });
  });

  /** A checkout in small: what is scanned, with a change. */
  const changed = (change: (folder: string) => void): string[] => {
    const copy = mkdtempSync(join(tmpdir(), 'dependencies-'));
    copies.push(copy);
    for (const path of [
      'package.json',
      'package-lock.json',
      'settings.ts',
      'tsconfig.json',
      'eslint.config.mjs',
      'api',
      'activities',
      'db',
      'workflows',
      'scripts',
    ])
      cpSync(join(root, path), join(copy, path), { recursive: true });
    mkdirSync(join(copy, 'test'));
    cpSync(join(root, 'test'), join(copy, 'test'), {
      recursive: true,
      filter: (path) => !/node_modules|histories/.test(path),
    });
    change(copy);
    return faults(copy);
  };
  const addTo = (group: 'dependencies' | 'devDependencies', name: string) => (folder: string) => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<
      string,
      Record<string, string>
    >;
    manifest[group]![name] = '1.0.0';
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  };

  it('are each used and have a reason and an accepted licence', () => {
    expect(faults(root)).to.deep.equal([]);
  });

  it('stand in docs/DEPENDENCIES.md as they are (npm run packages)', () => {
    expect(readFileSync(join(root, 'docs', 'DEPENDENCIES.md'), 'utf8')).to.equal(dependenciesText(root));
  });

  it('that nobody uses, that nobody named, or that would not be shipped are found', () => {
    expect(changed(addTo('dependencies', 'left-pad'))).to.deep.equal([
      'left-pad has no reason: give it one in scripts/dependencies/reasons.ts, or remove it.',
    ]);
    expect(changed((folder) => rmSync(join(folder, 'api', 'http', 'security', 'totp.ts')))).to.deep.equal([
      'otplib is used by tests alone: it belongs to devDependencies.',
    ]);
    expect(
      changed((folder) =>
        writeFileSync(
          join(folder, 'api', 'new.ts'),
          `import pad from 'left-pad';\nimport { expect } from 'chai';\nexport const used = [pad, expect];\n`,
        ),
      ),
    ).to.deep.equal([
      'api/new.ts imports left-pad, which package.json does not name.',
      'api/new.ts is shipped and imports chai, which is a devDependency.',
    ]);
    expect(changed((folder) => rmSync(join(folder, 'activities', 'html', 'render.ts')))).to.deep.equal([
      'preact-render-to-string is used nowhere: remove it from package.json.',
    ]);
    expect(changed((folder) => rmSync(join(folder, 'test', 'console', 'browser.ts')))).to.deep.equal([
      'The reason of axe-core names test/console/browser.ts in "by", which does not exist (scripts/dependencies/reasons.ts).',
    ]);
  });

  it('with another licence are found', () => {
    for (const good of ['MIT', '(MIT OR GPL-3.0-or-later)', 'Apache-2.0 AND MIT', '(MPL-2.0 OR Apache-2.0)'])
      expect(accepted(good), good).to.equal(true);
    for (const bad of ['GPL-3.0-only', 'AGPL-3.0 AND MIT', 'unknown', 'SEE LICENSE IN LICENSE.md'])
      expect(accepted(bad), bad).to.equal(false);
  });
});
