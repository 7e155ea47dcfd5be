import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { contractIn, output } from '../clients/stage.js';
import { root } from '../support/environment.js';
import { ran } from '../support/program.js';

interface Finding {
  code: string;
  message: string;
  path: (string | number)[];
}
const source = join(root, 'test', 'contract', 'spectral');
const folder = join(root, '.cache', 'spectral');

/** Spectral, as its lock file names it, in the cache: made once, and again when that changes. */
async function installed(): Promise<string> {
  const wanted = await readFile(join(source, 'package-lock.json'), 'utf8');
  const stamp = join(folder, 'installed.txt');
  if ((await readFile(stamp, 'utf8').catch(() => '')) !== wanted) {
    await mkdir(folder, { recursive: true });
    await cp(source, folder, { recursive: true });
    await output('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder });
    await writeFile(stamp, wanted);
  }
  return join(folder, 'node_modules', '@stoplight', 'spectral-cli', 'dist', 'index.js');
}

/** What a document's findings depend on: itself, the rules, and the program as its lock file names it. */
async function keyOf(file: string): Promise<string> {
  const hash = createHash('sha256').update(await readFile(file));
  for (const name of (await readdir(source)).sort()) hash.update(name).update(await readFile(join(source, name)));
  return hash.digest('hex');
}

describe('The contract under Spectral', function () {
  this.timeout(300_000);

  const findings = async (file: string): Promise<string[]> => {
    const ruleset = join(source, 'ruleset.yaml');
    const args = [await installed(), 'lint', file, '-r', ruleset, '-f', 'json', '--quiet'];
    const { code, output: said } = await ran(args, process.env);
    // 1: there are findings; anything else is a fault of its own.
    expect(code, said).to.be.oneOf([0, 1]);
    return (JSON.parse(said || '[]') as Finding[]).map(
      ({ code, path, message }) => `${code} ${path.join('/')}: ${message}`,
    );
  };

  /** The same document under the same rules has the same findings: they are kept, and looked for after a change. */
  const findingsKept = async (file: string): Promise<string[]> => {
    const kept = `${file}.findings`;
    const key = await keyOf(file);
    const last = JSON.parse(await readFile(kept, 'utf8').catch(() => '{}')) as { key?: string; found?: string[] };
    if (last.key === key && last.found) return last.found;
    const found = await findings(file);
    await writeFile(kept, JSON.stringify({ key, found }));
    return found;
  };

  for (const version of ['3.1', '3.0'] as const)
    it(`OpenAPI ${version}: no finding that is not answered in its ruleset`, async () => {
      await installed();
      expect(await findingsKept(await contractIn(folder, version))).to.deep.equal([]);
    });

  it('is asked in earnest: a wrong document has findings', async () => {
    await installed();
    const file = join(folder, 'wrong.json');
    await writeFile(
      file,
      JSON.stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths: { '/a': { get: {} } } }),
    );
    expect((await findings(file)).join('\n')).to.include('operation-operationId');
  });
});
