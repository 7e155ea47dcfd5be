import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { dependenciesText } from '../../scripts/dependencies/document.js';
import { accepted, faults } from '../../scripts/dependencies/scan.js';
import { root } from '../support/environment.js';

describe('dependencies', function suite() {
  let copy = '';
  after(() => {
    if (copy !== '') rmSync(copy, { recursive: true });
  });

  /** A checkout in small: what is scanned. */
  function copied(): string {
    copy = mkdtempSync(join(tmpdir(), 'dependencies-'));
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
    return copy;
  }

  it('are each used and have a reason and an accepted licence', () => {
    expect(faults(root)).to.deep.equal([]);
  });

  it('stand in docs/DEPENDENCIES.md as they are (npm run packages)', () => {
    expect(readFileSync(join(root, 'docs', 'DEPENDENCIES.md'), 'utf8')).to.equal(dependenciesText(root));
  });

  it('that nobody uses, that nobody named, or that would not be shipped are found', () => {
    const folder = copied();
    const file = join(folder, 'package.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> };
    manifest.dependencies['left-pad'] = '1.0.0';
    writeFileSync(file, JSON.stringify(manifest));
    writeFileSync(
      join(folder, 'api', 'new.ts'),
      `import pad from 'right-pad';\nimport { expect } from 'chai';\nexport const used = [pad, expect];\n`,
    );
    for (const gone of ['api/http/security/totp.ts', 'activities/html/render.ts', 'test/console/browser.ts'])
      rmSync(join(folder, gone));
    expect(faults(folder)).to.have.members([
      'left-pad has no reason: give it one in scripts/dependencies/reasons.ts, or remove it.',
      'otplib is used by tests alone: it belongs to devDependencies.',
      'api/new.ts imports right-pad, which package.json does not name.',
      'api/new.ts is shipped and imports chai, which is a devDependency.',
      'preact-render-to-string is used nowhere: remove it from package.json.',
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
