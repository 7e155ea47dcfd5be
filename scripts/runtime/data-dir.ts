import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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

/** Level by level: where nothing can be made, as in /proc, `recursive` tries for ever. */
function makeFolder(path: string, mode: number): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), mode);
  mkdirSync(path, { mode });
}

const unusable = (setting: string, path: string, fault: unknown) =>
  new StartError(`${setting} ${path} cannot be read and written: ${(fault as Error).message}.`);

/** Makes the folder that a setting names, if there is none. @throws StartError when it cannot be used */
export function usableFolder(setting: string, path: string, mode = 0o700): void {
  try {
    makeFolder(path, mode);
    if (!statSync(path).isDirectory()) throw new Error('it is not a folder');
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (fault) {
    throw unusable(setting, path, fault);
  }
}

/** If started as root, PostgreSQL runs as another user, who must be able to pass through its folders. */
export const ofDatabase = process.getuid?.() === 0 ? 0o711 : 0o700;

/**
 * Prepares the data folder.
 * @throws StartError when it cannot be created, read or written
 */
export function openDataDir(setting: string): DataDir {
  const dir = dataDirAt(setting);
  // Secrets are one level deeper.
  usableFolder('DATA_DIR', dir.path, ofDatabase);
  try {
    for (const inside of [dir.keys, dir.logs, dir.mail]) {
      mkdirSync(inside, { recursive: true, mode: 0o700 });
      accessSync(inside, constants.R_OK | constants.W_OK | constants.X_OK);
    }
    chmodSync(dir.keys, 0o700);
  } catch (fault) {
    throw unusable('DATA_DIR', dir.path, fault);
  }
  return dir;
}
