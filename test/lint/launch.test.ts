import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';

interface Configuration {
  name: string;
  request: 'launch' | 'attach';
  program?: string;
  port?: number;
  outFiles: string[];
}

const { configurations } = JSON.parse(readFileSync(join(root, '.vscode', 'launch.json'), 'utf8')) as {
  configurations: Configuration[];
};

describe('what .vscode/launch.json names is there', () => {
  it('programs that are started, and ports that "npm run dev -- --inspect" opens', () => {
    const programs = configurations.flatMap(({ program }) => program ?? []);
    expect(programs).to.have.members(
      ['scripts/dev.mjs', 'scripts/test.mjs'].map((path) => `\${workspaceFolder}/${path}`),
    );
    for (const program of programs)
      expect(existsSync(program.replace('${workspaceFolder}', root)), program).to.equal(true);
    const [, inspector] = /^const INSPECTOR_PORT = (\d+);$/m.exec(readFileSync(join(root, 'scripts/dev.mjs'), 'utf8'))!;
    expect(configurations.flatMap(({ port }) => port ?? [])).to.deep.equal([Number(inspector), Number(inspector) + 1]);
  });

  for (const program of ['api/main', 'activities/main'])
    it(`the source of ${program}, as a debugger finds it from dist`, () => {
      for (const { outFiles } of configurations) expect(outFiles).to.deep.equal(['${workspaceFolder}/dist/**/*.js']);
      const built = join(root, 'dist', `${program}.js`);
      const [, map] = /^\/\/# sourceMappingURL=(\S+)\s*$/m.exec(readFileSync(built, 'utf8'))!;
      const { sources, mappings } = JSON.parse(readFileSync(join(dirname(built), map!), 'utf8')) as {
        sources: string[];
        mappings: string;
      };
      const found = sources.map((source) => resolve(dirname(built), source));
      expect(found).to.include(join(root, `${program}.ts`));
      expect(found.filter((source) => !existsSync(source))).to.deep.equal([]);
      expect(mappings).not.to.equal('');
    });
});
