import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeDataRoot } from '../../test/support/service.js';
import { identify, lives } from '../runtime/processes.js';
import type { Identity } from '../runtime/processes.js';

const PREFIX = 'research-assessment-';
const OWNER = 'owner.json';

/** A new folder for everything that the tests write, marked as this process's. */
export function createDataRoot(): string {
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  writeFileSync(join(folder, OWNER), JSON.stringify(identify(process.pid)));
  // If started as root, PostgreSQL runs as another user and must be able to pass through.
  chmodSync(folder, 0o711);
  return folder;
}

/** Removes the folders of runs that were killed with SIGKILL. */
export async function removeAbandonedRoots(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const owner = join(tmpdir(), name, OWNER);
    if (!existsSync(owner) || lives(JSON.parse(readFileSync(owner, 'utf8')) as Identity)) continue;
    await removeDataRoot(join(tmpdir(), name));
  }
}
