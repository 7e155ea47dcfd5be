import { readFileSync, readdirSync } from 'node:fs';
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

/** The feature of a layer's folder; its subfolders have descriptions of their own. */
function featureOf(folder: string): string | undefined {
  const at = folder.lastIndexOf('/');
  const name = folder.slice(at + 1);
  return name in features && (layers as readonly string[]).includes(folder.slice(0, Math.max(at, 0)))
    ? name
    : undefined;
}

/** Folders without a description, and descriptions of missing folders. */
export function mapFaults(root: string): string[] {
  const there = foldersOf(root);
  return [
    ...there
      .filter((folder) => !(folder in folders) && featureOf(folder) === undefined)
      // A folder that only contains described ones needs no description.
      .filter((folder) => filesIn(root, folder) > 0)
      .map((folder) => `${folder} is not described in scripts/map/folders.ts`),
    ...Object.keys(folders)
      .filter((folder) => !there.includes(folder))
      .map((folder) => `${folder} is described in scripts/map/folders.ts and is not there`),
    ...Object.keys(features)
      .filter((feature) => !there.some((folder) => featureOf(folder) === feature))
      .map((feature) => `${feature} is a feature in scripts/map/folders.ts without a folder`),
  ];
}

const filesIn = (root: string, folder: string): number =>
  readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isFile()).length;

/** Features by layer; a cell has the number of files. */
function featureTable(root: string, there: readonly string[]): string[] {
  const filesBelow = (folder: string): number =>
    there
      .filter((one) => one === folder || one.startsWith(`${folder}/`))
      .reduce((sum, one) => sum + filesIn(root, one), 0);
  return [
    `| feature | what | ${layers.map((layer) => `\`${layer}\``).join(' | ')} |`,
    `|---|---|${layers.map(() => '---').join('|')}|`,
    ...Object.entries(features).map(([feature, what]) => {
      const cells = layers.map((layer) => {
        const folder = `${layer}/${feature}`;
        return there.includes(folder) ? `[${filesBelow(folder)}](../${folder})` : '';
      });
      return `| ${feature} | ${what} | ${cells.join(' | ')} |`;
    }),
  ];
}

/** docs/MAP.md for the present code. */
export function mapText(root: string): string {
  const there = foldersOf(root);
  const rows = there.map((folder) => ({ folder, ...importsOf(root, folder) }));
  const sections = TOP.flatMap((top) => [
    `## ${top}/`,
    '',
    '| folder | what for |',
    '|---|---|',
    ...there
      .filter((folder) => (folder === top || folder.startsWith(`${top}/`)) && featureOf(folder) === undefined)
      .filter((folder) => folder in folders || filesIn(root, folder) > 0)
      .map((folder) => `| \`${folder}\` | ${folders[folder] ?? UNKNOWN} |`),
    '',
  ]);
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
    'A feature has the same name in every layer. A number is how many files it has there.',
    '',
    ...featureTable(root, there),
    '',
    ...sections,
  ]
    .join('\n')
    .trimEnd()}\n`;
}
