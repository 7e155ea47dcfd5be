import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { readIfThere, writePrivate } from './files.js';
import { errorCode, identify, lives, type Identity } from './processes.js';
import { StartError } from './start-error.js';

/** The content of DATA_DIR/supervisor.json: this folder's supervisor and the processes it has started. */
export interface SupervisorRecord {
  supervisor: Identity;
  parts: Record<string, Identity>;
}

/** The exclusive right to run on a data folder. */
export interface Lock {
  /** Processes that an earlier supervisor of this folder recorded; they may have ended. */
  leftBehind: Record<string, Identity>;
  /** Records the present processes, so that a later start finds them if this one is killed. */
  record(parts: Record<string, Identity>): void;
  release(): void;
}

/**
 * Locks the folder for this process; takes over the record of a dead supervisor.
 * @param taken says so where another supervisor has it
 * @throws StartError when another supervisor is running on it
 */
export function takeLock(path: string, taken: (by: Identity) => string): Lock {
  const supervisor = identify(process.pid);
  if (!supervisor)
    throw new StartError(
      `The start time of process ${process.pid} cannot be read, so ${dirname(path)} cannot be locked.`,
    );
  let leftBehind: Record<string, Identity> = {};
  for (;;) {
    if (create(path, { supervisor, parts: leftBehind })) break;
    const text = readIfThere(path);
    if (text === undefined) continue;
    const found = parse(text);
    if (found && lives(found.supervisor)) throw new StartError(taken(found.supervisor));
    leftBehind = found?.parts ?? leftBehind;
    setAside(path, text);
  }
  return {
    leftBehind,
    record: (parts) => writePrivate(path, JSON.stringify({ supervisor, parts } satisfies SupervisorRecord)),
    release: () => unlinkSync(path),
  };
}

/** A hard link appears atomically with its content: of two concurrent starts exactly one wins. */
function create(path: string, record: SupervisorRecord): boolean {
  const draft = `${path}.${randomUUID()}`;
  writePrivate(draft, JSON.stringify(record));
  try {
    linkSync(draft, path);
    return true;
  } catch (fault) {
    if (errorCode(fault) === 'EEXIST') return false;
    throw fault;
  } finally {
    unlinkSync(draft);
  }
}

/** Removes a stale record. The moved file is compared: another start may have replaced it in between. */
function setAside(path: string, stale: string): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch (fault) {
    if (errorCode(fault) === 'ENOENT') return;
    throw fault;
  }
  if (readIfThere(aside) !== stale) linkSync(aside, path);
  unlinkSync(aside);
}

function parse(text: string): SupervisorRecord | undefined {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record !== 'object' || record === null || !('supervisor' in record)) return undefined;
    return record as SupervisorRecord;
  } catch (fault) {
    // Truncated by a crash of the machine: treated as missing.
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
}
