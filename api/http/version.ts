import { readFileSync } from 'node:fs';
/** The release in package.json, which is one folder further up in the build. */
export const version: string = readVersion();

function readVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const parsed = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version?: unknown };
      if (typeof parsed.version === 'string') return parsed.version;
    } catch (fault) {
      if ((fault as { code?: unknown }).code !== 'ENOENT') throw fault;
    }
  }
  throw new Error('package.json is not found beside the program');
}
