import { licences, packages } from './scan.js';
import type { Package } from './scan.js';

/** docs/DEPENDENCIES.md: the packages that are named, each with its reason; the others by licence. */
export function dependenciesText(root: string): string {
  const all = packages(root);
  const table = (of: Package[]) => [
    '| package | version | licence | why |',
    '|---|---|---|---|',
    ...of.map((one) => `| ${one.name} | ${one.version} | ${one.license} | ${one.why} |`),
  ];
  const byLicence = [...licences(root)].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1));
  return `${[
    '# Dependencies',
    '',
    'Written by `npm run packages` (and by `npm run openapi`); a test compares. Every package has a reason ' +
      'here and is used, or the test fails; versions are exact,',
    'and `npm ci` installs what the lock file names by hash. Install scripts run for the packages of ' +
      '`allowScripts` in package.json alone.',
    '',
    '## At run time',
    '',
    ...table(all.filter(({ dev }) => !dev)),
    '',
    '## For development and tests',
    '',
    ...table(all.filter(({ dev }) => dev)),
    '',
    '## Licences of everything that is installed',
    '',
    'Those that others bring included. The project itself is under Apache-2.0; a licence that is not in the ' +
      'list of `scripts/dependencies/scan.ts` fails the test.',
    '',
    '| licence | packages |',
    '|---|--:|',
    ...byLicence.map(([licence, names]) => `| ${licence} | ${names.length} |`),
    '',
    '## Bill of materials and known faults',
    '',
    '`npm run sbom` writes `.cache/sbom.cdx.json` (CycloneDX) of what runs in production. `npm run ' +
      'audit:packages` asks the registry for known',
    'vulnerabilities of it and fails at **high** and above: what is lower is looked at with each update.',
  ].join('\n')}\n`;
}
