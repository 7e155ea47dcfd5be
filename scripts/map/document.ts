import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { folders, leftOut } from './folders.js';

/** Parts of the code between which imports have a direction. */
const AREAS = ['api', 'workflows/domain', 'workflows', 'activities', 'db', 'settings.ts'];
const TOP = ['api', 'workflows', 'activities', 'db', 'scripts', 'test'];
const UNKNOWN = '**not described yet: scripts/map/folders.ts**';

const areaOf = (path: string): string | undefined => AREAS.find((area) => path === area || path.startsWith(`${area}/`));

/** Every folder of sources, as it stands on the disk. */
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

/** Which areas the files of a folder import; types alone are told apart, since nothing of them runs. */
function importsOf(root: string, folder: string): { values: Set<string>; types: Set<string> } {
  const values = new Set<string>(),
    types = new Set<string>();
  for (const name of readdirSync(join(root, folder)).filter((file) => file.endsWith('.ts'))) {
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

/** Folders that nobody has described, and descriptions of folders that are gone. */
export function mapFaults(root: string): string[] {
  const there = foldersOf(root);
  return [
    ...there
      .filter((folder) => !(folder in folders))
      .map((folder) => `${folder} is not described in scripts/map/folders.ts`),
    ...Object.keys(folders)
      .filter((folder) => !there.includes(folder))
      .map((folder) => `${folder} is described in scripts/map/folders.ts and is not there`),
  ];
}

/** docs/MAP.md, of the code as it is. */
export function mapText(root: string): string {
  const there = foldersOf(root);
  const rows = there.map((folder) => ({ folder, ...importsOf(root, folder) }));
  const shown = (names: Set<string>) => [...names].sort().map((name) => `\`${name}\``);
  const sections = TOP.flatMap((top) => [
    `## ${top}/`,
    '',
    ...(top === 'scripts' || top === 'test'
      ? ['| folder | what for |', '|---|---|']
      : ['| folder | what for | imports |', '|---|---|---|']),
    ...rows
      .filter(({ folder }) => folder === top || folder.startsWith(`${top}/`))
      .map(({ folder, values, types }) => {
        const what = `| \`${folder}\` | ${folders[folder] ?? UNKNOWN} |`;
        return top === 'scripts' || top === 'test'
          ? what
          : `${what} ${[...shown(values), ...shown(types).map((name) => `${name} (types)`)].join(', ')} |`;
      }),
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
    'Written from the sources by `npm run map` (and by `npm run openapi`); a test compares. Which way imports go is what they do, not what they',
    'should: that is a rule of `npm run lint` ([ARCHITECTURE.md](../ARCHITECTURE.md#direction-of-imports)). scripts and test may import everything.',
    '',
    '```mermaid',
    'flowchart TD',
    ...lines,
    '```',
    '',
    ...sections,
  ]
    .join('\n')
    .trimEnd()}\n`;
}
