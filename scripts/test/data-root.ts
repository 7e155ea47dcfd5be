import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeDataRoot } from '../../test/support/service.js';
import { identify, lives } from '../runtime/processes.js';
import type { Identity } from '../runtime/processes.js';

const PREFIX = 'research-assessment-';
const OWNER = 'owner.json';
/** The memory file system of Linux. */
const IN_MEMORY = '/dev/shm';
/** What must be free there, and in memory: several times what a run of all tests was seen to write. */
const FREE_BYTES = 14 * 2 ** 30;

/** A new folder for everything that the tests write, marked as this process's; in memory where much of it is free. */
export function createDataRoot(): string {
  const folder = mkdtempSync(join(hasRoom() ? IN_MEMORY : tmpdir(), PREFIX));
  writeFileSync(join(folder, OWNER), JSON.stringify(identify(process.pid)));
  // If started as root, PostgreSQL runs as another user and must be able to pass through.
  chmodSync(folder, 0o711);
  return folder;
}

/**
 * A copy of a prepared data folder is 1,800 files: a fifth of a short test file's processor time on a disk, next to
 * nothing in memory. A folder that is named by TMPDIR is taken as it is.
 */
function hasRoom(): boolean {
  if (process.env.TMPDIR || !existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize >= FREE_BYTES && process.availableMemory() >= FREE_BYTES;
}

/** Removes the folders of runs that were killed with SIGKILL. */
export async function removeAbandonedRoots(): Promise<void> {
  for (const place of [tmpdir(), IN_MEMORY].filter(existsSync))
    for (const name of readdirSync(place).filter((entry) => entry.startsWith(PREFIX))) {
      const owner = join(place, name, OWNER);
      if (!existsSync(owner) || lives(JSON.parse(readFileSync(owner, 'utf8')) as Identity)) continue;
      await removeDataRoot(join(place, name));
    }
}
