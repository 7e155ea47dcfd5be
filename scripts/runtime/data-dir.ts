import { accessSync, chmodSync, constants, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { StartError } from './start-error.js';

/** The folders inside DATA_DIR. */
export interface DataDir {
  path: string;
  keys: string;
  logs: string;
  mail: string;
  runJson: string;
  supervisorJson: string;
}

export const dataDirAt = (dataDir: string): DataDir => {
  const path = resolve(dataDir);
  return {
    path,
    keys: join(path, 'keys'),
    logs: join(path, 'logs'),
    mail: join(path, 'mail'),
    runJson: join(path, 'run.json'),
    supervisorJson: join(path, 'supervisor.json'),
  };
};

/**
 * Prepares the data folder.
 * @throws StartError when it cannot be created, read or written
 */
export function openDataDir(setting: string): DataDir {
  const dir = dataDirAt(setting);
  try {
    // If started as root, PostgreSQL runs as another user, who must be able to pass through; secrets are one level
    // deeper.
    mkdirSync(dir.path, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    if (!statSync(dir.path).isDirectory()) throw new Error('it is not a folder');
    accessSync(dir.path, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const inside of [dir.keys, dir.logs, dir.mail]) {
      mkdirSync(inside, { recursive: true, mode: 0o700 });
      accessSync(inside, constants.R_OK | constants.W_OK | constants.X_OK);
    }
    chmodSync(dir.keys, 0o700);
  } catch (fault) {
    throw new StartError(`DATA_DIR ${dir.path} cannot be read and written: ${(fault as Error).message}.`);
  }
  return dir;
}
