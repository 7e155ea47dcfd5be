import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A file of a base backup, by its path inside it. */
export interface CopiedFile {
  path: string;
  bytes: number;
  sha256: string;
}

/**
 * Folders that a server fills again: they are kept without their content (PostgreSQL, "Making a Base Backup Using the
 * Low Level API").
 */
const EMPTIED = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const LEFT_OUT = new Set([
  'postmaster.pid',
  'postmaster.opts',
  'pg_internal.init',
  'backup_label',
  'backup_label.old',
  'tablespace_map',
  'recovery.signal',
  'standby.signal',
]);
/** Written by every checkpoint: it is copied last, in the state of the end of the copy. */
const CONTROL = 'global/pg_control';

/** The folders and files of a cluster in a base backup, files in copying order. */
export async function clusterContent(data: string): Promise<{ folders: string[]; files: string[] }> {
  const folders: string[] = [],
    files: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(data, folder), { withFileTypes: true }).catch(unlessGone)) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (LEFT_OUT.has(entry.name) || entry.name.startsWith('pgsql_tmp')) continue;
      if (folder === 'pg_tblspc')
        throw new Error(`The cluster has a tablespace (${path}): this back-up does not follow it, use pg_basebackup.`);
      if (entry.isDirectory()) {
        folders.push(path);
        if (!EMPTIED.has(path)) await visit(path);
      } else if (entry.isFile() && path !== CONTROL) files.push(path);
    }
  };
  await visit('');
  return { folders, files: [...files, CONTROL] };
}

/** Copies a file and returns its facts; undefined: it was deleted, as a dropped table's file may be. */
export async function copyHashed(from: string, to: string, path: string): Promise<CopiedFile | undefined> {
  await mkdir(dirname(join(to, path)), { recursive: true, mode: 0o700 });
  const hash = createHash('sha256');
  let bytes = 0;
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  try {
    await pipeline(createReadStream(join(from, path)), through, createWriteStream(join(to, path), { mode: 0o600 }));
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fault;
  }
  await synced(join(to, path));
  return { path, bytes, sha256: hash.digest('hex') };
}

async function synced(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function unlessGone(fault: NodeJS.ErrnoException): [] {
  if (fault.code === 'ENOENT') return [];
  throw fault;
}
