import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { features, folders, layers, leftOut } from './folders.js';

/** Parts of the code between which imports have a direction. */
const AREAS = ['api', 'workflows/domain', 'workflows', 'activities', 'db', 'settings.ts'];
const TOP = ['api', 'workflows', 'activities', 'db', 'scripts', 'test'];
const UNKNOWN = '**not described yet: scripts/map/folders.ts**';

const areaOf = (path: string): string | undefined => AREAS.find((area) => path === area || path.startsWith(`${area}/`));

/** Every folder of sources on the disk. */
function foldersOf(root: string): string[] {
  const found: string[] = [];
  const visit = (folder: string): void => {
    if (leftOut.test(folder)) return;
    found.push(folder);
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true }))
      if (entry.isDirectory()) visit(`${folder}/${entry.name}`);
  };
  for (const folder of TOP) visit(folder);
  return found;
}

/** The areas that a folder's files import; type imports are separate, since they have no effect at run time. */
function importsOf(root: string, folder: string): { values: Set<string>; types: Set<string> } {
  const values = new Set<string>(),
    types = new Set<string>();
  for (const name of readdirSync(join(root, folder)).filter((file) => /\.tsx?$/.test(file))) {
    const source = ts.createSourceFile(name, readFileSync(join(root, folder, name), 'utf8'), ts.ScriptTarget.Latest);
    for (const statement of source.statements) {
      if (
        !(ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) ||
        !statement.moduleSpecifier ||
        !ts.isStringLiteral(statement.moduleSpecifier)
      )
        continue;
      const specifier = statement.moduleSpecifier.text;
      const area = specifier.startsWith('.')
        ? areaOf(posix.normalize(posix.join(folder, specifier)).replace(/^settings\.js$/, 'settings.ts'))
        : undefined;
      if (area === undefined || area === areaOf(`${folder}/`)) continue;
      const typeOnly = ts.isImportDeclaration(statement)
        ? statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
        : statement.isTypeOnly;
      (typeOnly ? types : values).add(area);
    }
  }
  for (const area of values) types.delete(area);
  return { values, types };
}

/** The feature of a layer's folder. */
function featureOf(folder: string): string | undefined {
  const at = folder.lastIndexOf('/');
  const name = folder.slice(at + 1);
  return name in features && (layers as readonly string[]).includes(folder.slice(0, Math.max(at, 0)))
    ? name
    : undefined;
}

/** Whether a folder needs a description: a top one, or one of a layer. What is deeper is explained by its parent. */
const needsDescription = (folder: string): boolean =>
  TOP.includes(folder) || (layers as readonly string[]).includes(posix.dirname(folder));

/** Folders without a description, and descriptions of missing folders and files. */
export function mapFaults(root: string): string[] {
  const there = foldersOf(root);
  return [
    ...there
      .filter((folder) => needsDescription(folder) && !(folder in folders) && featureOf(folder) === undefined)
      // Git keeps no empty folder.
      .filter((folder) => there.some((one) => (one === folder || one.startsWith(`${folder}/`)) && hasFiles(root, one)))
      .map((folder) => `${folder} is not described in scripts/map/folders.ts`),
    ...Object.keys(folders)
      .filter((folder) => !there.includes(folder) || !needsDescription(folder))
      .map((folder) => `${folder} is described in scripts/map/folders.ts and is not there, or is part of another one`),
    ...Object.keys(features)
      .filter((feature) => !there.some((folder) => featureOf(folder) === feature))
      .map((feature) => `${feature} is a feature in scripts/map/folders.ts without a folder`),
    ...Object.entries({ ...features, ...folders })
      .filter(([, { begin }]) => !existsSync(join(root, begin)))
      .map(([name, { begin }]) => `${name} begins in scripts/map/folders.ts at ${begin}, which is not there`),
  ];
}

const hasFiles = (root: string, folder: string): boolean =>
  readdirSync(join(root, folder), { withFileTypes: true }).some((entry) => entry.isFile());

const linkTo = (path: string, text = path): string => `[${text}](../${path})`;

/** One line for each feature: what it is, its layers, its first file. */
function featureTable(there: readonly string[]): string[] {
  return [
    '| feature | what | layers | begin with |',
    '|---|---|---|---|',
    ...Object.entries(features).map(([feature, { what, begin }]) => {
      const found = layers.filter((layer) => there.includes(`${layer}/${feature}`));
      const links = found.map((layer) => linkTo(`${layer}/${feature}`, layer)).join(', ');
      return `| ${feature} | ${what} | ${links} | ${linkTo(begin)} |`;
    }),
  ];
}

/** One line for each folder of a layer that is no feature. */
function folderTable(root: string, there: readonly string[]): string[] {
  return [
    '| folder | what | begin with |',
    '|---|---|---|',
    ...there
      .filter((folder) => needsDescription(folder) && featureOf(folder) === undefined)
      .filter((folder) => folder in folders || hasFiles(root, folder))
      .map((folder) => {
        const { what, begin } = folders[folder] ?? { what: UNKNOWN, begin: folder };
        return `| ${linkTo(folder)} | ${what} | ${linkTo(begin)} |`;
      }),
  ];
}

/** docs/MAP.md for the present code. */
export function mapText(root: string): string {
  const there = foldersOf(root);
  const rows = there.map((folder) => ({ folder, ...importsOf(root, folder) }));
  const edges = new Map<string, boolean>();
  for (const { folder, values, types } of rows) {
    const from = areaOf(`${folder}/`);
    if (from === undefined) continue;
    for (const to of values) edges.set(`${from} ${to}`, true);
    for (const to of types) if (!edges.get(`${from} ${to}`)) edges.set(`${from} ${to}`, false);
  }
  const node = (area: string) => `${area.replaceAll(/\W/g, '_')}["${area}"]`;
  const lines = [...edges]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([edge, runs]) => {
      const [from, to] = edge.split(' ') as [string, string];
      return `  ${node(from)} ${runs ? '-->' : '-. types .->'} ${node(to)}`;
    });
  return `${[
    '# Map of the code',
    '',
    'Written from the sources by `npm run map` (and by `npm run openapi`); a test compares. The arrows are the ' +
      'imports that exist;',
    'which ones are allowed is a rule of `npm run lint` ' +
      '([ARCHITECTURE.md](../ARCHITECTURE.md#direction-of-imports)). scripts and test may import everything.',
    '',
    '```mermaid',
    'flowchart TD',
    ...lines,
    '```',
    '',
    '## Features',
    '',
    'A feature has the same name in every layer; a suffix says what a file is',
    '([ARCHITECTURE.md](../ARCHITECTURE.md#where-things-live)).',
    '',
    ...featureTable(there),
    '',
    '## Everything else',
    '',
    ...folderTable(root, there),
  ].join('\n')}\n`;
}
