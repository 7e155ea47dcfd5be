import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { usableFolder } from '../runtime/data-dir.js';
import { readIfThere } from '../runtime/files.js';
import { passable } from '../runtime/postgres/postgres-place.js';
import { StartError } from '../runtime/start-error.js';
import type { CopiedFile } from './base-copy.js';

/** The manifest of a base backup; it is written last, so a folder without it is incomplete. */
export interface Manifest {
  started_at: string;
  /** A restore may stop at this moment or any later one. */
  consistent_at: string;
  postgres_version: string;
  schema_revision: string;
  /** The first log file that a restore from here needs. */
  first_log: string;
  files: CopiedFile[];
  folders: string[];
}
export interface BaseBackup {
  name: string;
  path: string;
  manifest: Manifest;
}

/** BACKUP_DIR: base backups, and the log for restoring from each of them to any later moment. */
export const backupFolder = (setting: string) => {
  const path = resolve(setting);
  return { path, log: join(path, 'log'), base: join(path, 'base') };
};

/** Creates the folder of the log, writable for PostgreSQL's user. @throws StartError if that user has no access */
export function prepareLog(setting: string, user: { uid: number; gid: number } | undefined): string {
  const { path, log } = backupFolder(setting);
  // If started as root, PostgreSQL runs as another user, who must be able to pass through.
  usableFolder('BACKUP_DIR', path, user ? 0o711 : 0o700);
  mkdirSync(log, { recursive: true, mode: 0o700 });
  if (user) {
    if (statSync(path).uid === 0) chmodSync(path, statSync(path).mode | 0o011);
    chownSync(log, user.uid, user.gid);
    if (!passable(log, user))
      throw new StartError(
        `BACKUP_DIR ${path}: PostgreSQL runs as another user than root, who cannot pass through there. Choose ` +
          'a folder that everybody may pass through, e.g. under /var/lib.',
      );
  }
  return log;
}

/** Complete base backups, oldest first. */
export function baseBackups(setting: string): BaseBackup[] {
  const { base } = backupFolder(setting);
  mkdirSync(base, { recursive: true, mode: 0o700 });
  return readdirSync(base)
    .filter((name) => /^\d{8}T\d{6}Z$/.test(name))
    .sort()
    .flatMap((name) => {
      const path = join(base, name);
      const text = readIfThere(join(path, 'manifest.json'));
      return text === undefined ? [] : [{ name, path, manifest: JSON.parse(text) as Manifest }];
    });
}

/** The end of the name of a base backup that is being made. */
export const DRAFT = '.new';

/** Removes what back-ups that were killed have left, also of older ones that they removed. @returns their names */
export function removeUnfinished(setting: string): string[] {
  const { base } = backupFolder(setting);
  const left = existsSync(base) ? readdirSync(base).filter((name) => UNFINISHED.test(name)) : [];
  for (const name of left) rmSync(join(base, name), { recursive: true, force: true });
  return left;
}
const UNFINISHED = /^\d{8}T\d{6}Z\.(?:new|gone)$/;

/** A log file's position in any timeline: files before the first required one are obsolete. */
const place = (name: string): string => name.slice(8, 24);

/** Removes all but the newest `keep` base backups, and the log files that none of those needs. */
export function removeOlder(setting: string, keep: number): { backups: string[]; logFiles: number } {
  const all = baseBackups(setting);
  const kept = all.slice(-keep);
  const gone = all.slice(0, -keep);
  for (const { path } of gone) {
    // A part of one is no back-up.
    renameSync(path, `${path}.gone`);
    rmSync(`${path}.gone`, { recursive: true });
  }
  const { log } = backupFolder(setting);
  const first = kept.map(({ manifest }) => place(manifest.first_log)).sort()[0];
  const old =
    first === undefined
      ? []
      : readdirSync(log).filter((name) => /^[0-9A-F]{24}(\.|$)/.test(name) && place(name) < first);
  for (const name of old) rmSync(join(log, name));
  return { backups: gone.map(({ name }) => name), logFiles: old.length };
}
