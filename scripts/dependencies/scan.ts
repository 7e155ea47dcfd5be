import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript';
import { reasons } from './reasons.js';

export interface Package {
  name: string;
  version: string;
  license: string;
  dev: boolean;
  why: string;
}
interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
interface Lock {
  packages: Record<string, { license?: string; version?: string; dev?: boolean }>;
}

const FOLDERS = ['api', 'activities', 'db', 'workflows', 'scripts', 'test'];
const FILES = ['settings.ts', 'eslint.config.mjs'];
/** Files copied into the production image. */
const SHIPPED = /^(api|activities|db|workflows)\/|^settings\.ts$|^scripts\/(runtime|migrate|audit-verify)/;

/** Licences that only require attribution; others need a person's review. */
const ACCEPTED = new Set([
  'MIT',
  'MIT-0',
  'Apache-2.0',
  'ISC',
  'BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BSD-0-Clause',
  'BlueOak-1.0.0',
  'OFL-1.1',
  'Unlicense',
  'Python-2.0',
  'PSF-2.0',
  'CC-BY-4.0',
  'CC0-1.0',
  'Zlib',
  'MIT/X11',
]);
/** Licences that require publishing the source of changes: such a package is used unchanged, and listed here. */
const UNCHANGED: Record<string, string> = { 'web-push': 'MPL-2.0', 'axe-core': 'MPL-2.0' };
/** Packages without a licence in their package.json, with the one stated elsewhere. */
const STATED: Record<string, string> = {
  decko: 'MIT',
  stickyfill: 'MIT',
  unionfs: 'Unlicense',
  // From exceljs. It states no licence; its author's related packages (binary, chainsaw) are MIT/X11.
  buffers: 'MIT/X11',
};
/** Whether one of the licences to choose from is accepted, or all that apply together are. */
export const accepted = (expression: string): boolean =>
  expression
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((one) => ACCEPTED.has(one.trim())));

/** Which packages each source file imports, by its own syntax. */
export function importsOf(root: string): Map<string, string[]> {
  const files = [
    ...FILES,
    ...FOLDERS.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
    ),
  ].filter((path) => /\.(tsx?|mjs|cjs)$/.test(path) && !/(^|\/)node_modules\//.test(path));
  return new Map(files.map((path) => [path, packagesIn(readFileSync(join(root, path), 'utf8'))]));
}

function packagesIn(text: string): string[] {
  const named = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  return [
    ...new Set(
      named
        .filter((name) => !/^(\.|node:)/.test(name))
        .map((name) =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        ),
    ),
  ].filter((name) => !builtinModules.includes(name));
}

/** The packages that package.json names, with version and licence of what is locked. */
export function packages(root: string): Package[] {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  return [dependencies, devDependencies].flatMap((of, index) =>
    Object.entries(of).map(([name, version]) => ({
      name,
      // One under a name of ours is asked for as npm:its-own-name@version.
      version: locked[`node_modules/${name}`]?.version ?? version,
      license: locked[`node_modules/${name}`]?.license ?? 'unknown',
      dev: index === 1,
      why: reasons[name]?.why ?? '',
    })),
  );
}

/** All faults, as sentences; empty: none. */
export function faults(root: string): string[] {
  const declared = packages(root),
    imports = importsOf(root);
  const byName = new Map(declared.map((one) => [one.name, one]));
  const used = new Set([...imports.values()].flat());
  const found: string[] = [];
  for (const { name } of declared) {
    const reason = reasons[name];
    if (!reason) found.push(`${name} has no reason: give it one in scripts/dependencies/reasons.ts, or remove it.`);
    else if (reason.by !== undefined && !existsSync(join(root, reason.by)))
      found.push(
        `The reason of ${name} names ${reason.by} in "by", which does not exist (scripts/dependencies/reasons.ts).`,
      );
    else if (
      reason.by === undefined ? !used.has(name) : !readFileSync(join(root, reason.by), 'utf8').includes(shortName(name))
    )
      found.push(`${name} is used nowhere: remove it from package.json.`);
  }
  for (const name of Object.keys(reasons))
    if (!byName.has(name)) found.push(`${name} has a reason and is not in package.json.`);
  for (const [path, names] of imports) {
    for (const name of names) {
      const own = byName.get(name);
      if (!own) found.push(`${path} imports ${name}, which package.json does not name.`);
      else if (own.dev && SHIPPED.test(path))
        found.push(`${path} is shipped and imports ${name}, which is a devDependency.`);
    }
  }
  const served = new Set([...imports].filter(([path]) => !path.startsWith('test/')).flatMap(([, names]) => names));
  for (const { name, dev } of declared) {
    if (!dev && reasons[name]?.by === undefined && used.has(name) && !served.has(name))
      found.push(`${name} is used by tests alone: it belongs to devDependencies.`);
  }
  for (const [license, names] of licences(root))
    if (!accepted(license) && names.some((name) => UNCHANGED[name] !== license))
      found.push(
        `${names.join(', ')}: the licence ${license} is not one of those that are accepted ` +
          '(scripts/dependencies/scan.ts).',
      );
  return found;
}

/** A font family is resolved by its name without the scope; types are found by the compiler itself. */
const shortName = (name: string): string =>
  name.startsWith('@types/') ? 'compilerOptions' : name.startsWith('@fontsource') ? name.split('/')[1]! : name;

/** All locked packages by licence, those that others bring included. */
export function licences(root: string): Map<string, string[]> {
  const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const found = new Map<string, string[]>();
  for (const [path, { license }] of Object.entries(locked)) {
    if (path === '') continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 13);
    const of = license ?? STATED[name] ?? 'unknown';
    found.set(of, [...(found.get(of) ?? []), name]);
  }
  return found;
}
