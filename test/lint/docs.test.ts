import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { checkoutFiles } from '../support/sources.js';

const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = checkoutFiles().filter((path) => path.endsWith('.md'));

/** Anchors of a document's headings, as they are made of their text. */
const anchorsOf = (path: string) =>
  [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  );

/** The changelog names files of its time, the guide of the tests a file that stands for any. */
const UNCHECKED = ['CHANGELOG.md', 'test/README.md'];

describe('what the documents name is there', () => {
  it('files and headings that they link to', () => {
    const links = documents
      .flatMap((from) => [...read(from).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => [from, to!] as const))
      .filter(([, to]) => !/^(https?:|mailto:)/.test(to));
    expect(links.length).to.be.greaterThan(30);
    for (const [from, to] of links) {
      const [path, anchor] = to.split('#') as [string, string | undefined];
      const target = path === '' ? from : normalize(join(dirname(from), path));
      expect(existsSync(join(root, target)), `${from} links to ${to}`).to.equal(true);
      if (anchor !== undefined && target.endsWith('.md'))
        expect(anchorsOf(target), `${from} links to ${to}`).to.include(anchor);
    }
  });

  it('files, folders and npm scripts', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const names = new Set(checkoutFiles().map((path) => basename(path)));
    const components = checkoutFiles()
      .filter((path) => path.endsWith('.tsx'))
      .flatMap((path) => [...read(path).matchAll(/^export (?:async )?function ([A-Z]\w+)/gm)].map(([, name]) => name!));
    let looked = 0;
    for (const document of documents.filter((path) => !UNCHECKED.includes(path))) {
      // A name without a folder, as in a list of files of one folder.
      for (const [, name] of read(document).matchAll(/`(\w[\w.-]*\.(?:tsx?|mjs|cjs|sql|svg))`/g))
        expect(names, `${document} names ${name}`).to.include(name!);
      for (const [, path] of read(document).matchAll(
        /`((?:api|workflows|activities|db|scripts|test|docs)\/[\w./-]+)`/g,
      )) {
        looked += 1;
        expect(
          ['', '.ts', '.tsx'].some((end) => existsSync(join(root, `${path!}${end}`))),
          `${document} names ${path}`,
        ).to.equal(true);
      }
      for (const [, component] of read(document).matchAll(/`<([A-Z]\w+)/g))
        expect(components, `${document} names <${component}>`).to.include(component!);
      for (const [, script] of read(document).matchAll(/npm run ([\w:-]+)/g))
        expect(scripts, `${document}: npm run ${script}`).to.have.property(script!);
    }
    expect(looked).to.be.greaterThan(60);
  });

  it('files that sources name in their comments and messages', () => {
    const sources = checkoutFiles().filter((path) => /\.(tsx?|mjs)$/.test(path) && !path.startsWith('test/'));
    let looked = 0;
    for (const source of sources)
      for (const [, path] of read(source).matchAll(
        /(?<![\w/.@-])((?:api|workflows|activities|db|scripts|test|docs)\/[\w./-]+\.(?:tsx|ts|mjs|md|json|sql))\b/g,
      )) {
        looked += 1;
        expect(existsSync(join(root, path!)), `${source} names ${path}`).to.equal(true);
      }
    expect(looked).to.be.greaterThan(60);
  });

  it('commits that CONTRIBUTING gives as examples', () => {
    const named = [...read('CONTRIBUTING.md').matchAll(/`([0-9a-f]{7})`/g)].map(([, commit]) => commit!);
    expect(named.length).to.be.at.least(4);
    // An exported or shallow checkout has no history to look in; that of the project has more than a hundred commits.
    const whole =
      existsSync(join(root, '.git')) &&
      git('rev-parse', '--is-shallow-repository') === 'false' &&
      Number(git('rev-list', '--count', 'HEAD')) > 100;
    for (const commit of whole ? named : []) expect(git('cat-file', '-t', commit), commit).to.equal('commit');
  });
});
