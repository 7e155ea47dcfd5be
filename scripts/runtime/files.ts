import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { errorCode } from './processes.js';

/** Writes a file atomically that only its owner may read, also with regard to crashes. */
export function writePrivate(path: string, text: string): void {
  const draft = `${path}.${process.pid}.new`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}

/** The text of a file, or undefined if it does not exist. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (fault) {
    if (errorCode(fault) === 'ENOENT') return undefined;
    throw fault;
  }
}
