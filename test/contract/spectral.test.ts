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
  source: string;
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

/** The findings of each of these files, in one run: the program takes longer to start than to read a small one. */
async function findings(files: readonly string[]): Promise<string[][]> {
  const ruleset = join(source, 'ruleset.yaml');
  const args = [await installed(), 'lint', ...files, '-r', ruleset, '-f', 'json', '--quiet'];
  const { code, output: said } = await ran(args, process.env);
  // 1: there are findings; anything else is a fault of its own.
  expect(code, said).to.be.oneOf([0, 1]);
  const found = JSON.parse(said || '[]') as Finding[];
  return files.map((file) =>
    found
      .filter((one) => one.source === file)
      .map(({ code, path, message }) => `${code} ${path.join('/')}: ${message}`),
  );
}

/** The same document under the same rules has the same findings: they are kept, and looked for after a change. */
async function findingsKept(files: readonly string[]): Promise<string[][]> {
  const documents = await Promise.all(
    files.map(async (file) => {
      const [kept, key] = [`${file}.findings`, await keyOf(file)];
      const last = JSON.parse(await readFile(kept, 'utf8').catch(() => '{}')) as { key?: string; found?: string[] };
      return { file, kept, key, found: last.key === key ? last.found : undefined };
    }),
  );
  const open = documents.filter(({ found }) => found === undefined);
  const looked = open.length === 0 ? [] : await findings(open.map(({ file }) => file));
  for (const [n, { kept, key }] of open.entries()) await writeFile(kept, JSON.stringify({ key, found: looked[n] }));
  return documents.map((one) => one.found ?? looked[open.indexOf(one)]!);
}

describe('The contract under Spectral', function () {
  this.timeout(300_000);
  const found = new Map<string, string[]>();

  before(async () => {
    await installed();
    const wrong = join(folder, 'wrong.json');
    await writeFile(
      wrong,
      JSON.stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths: { '/a': { get: {} } } }),
    );
    const files = [await contractIn(folder, '3.1'), await contractIn(folder, '3.0'), wrong];
    for (const [n, each] of (await findingsKept(files)).entries()) found.set(['3.1', '3.0', 'wrong'][n]!, each);
  });

  for (const version of ['3.1', '3.0'])
    it(`OpenAPI ${version}: no finding that is not answered in its ruleset`, () => {
      expect(found.get(version)).to.deep.equal([]);
    });

  it('is asked in earnest: a wrong document has findings', () => {
    expect(found.get('wrong')!.join('\n')).to.include('operation-operationId');
  });
});
