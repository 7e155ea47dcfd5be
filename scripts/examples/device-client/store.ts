import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Stores undelivered data on a device. A browser would use IndexedDB. */
export interface Store {
  put(key: string, value: unknown): Promise<void>;
  get<T>(key: string): Promise<T | undefined>;
  /** Sorted by name. */
  keys(prefix: string): Promise<string[]>;
  remove(key: string): Promise<void>;
}

/** A folder with a file for each key. A value is on the disk when `put` returns, and is never written partially. */
export class FolderStore implements Store {
  constructor(private readonly folder: string) {}

  async put(key: string, value: unknown): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const beside = join(this.folder, `${key}.new`);
    const file = await open(beside, 'w', 0o600);
    await file.writeFile(JSON.stringify(value));
    await file.sync();
    await file.close();
    await rename(beside, this.file(key));
  }

  async get<T>(key: string): Promise<T | undefined> {
    const known = await this.keys(key);
    return known.includes(key) ? (JSON.parse(await readFile(this.file(key), 'utf8')) as T) : undefined;
  }

  async keys(prefix: string): Promise<string[]> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const names = (await readdir(this.folder)).filter((name) => name.startsWith(prefix) && name.endsWith('.json'));
    return names.map((name) => name.slice(0, -'.json'.length)).sort();
  }

  async remove(key: string): Promise<void> {
    await rm(this.file(key), { force: true });
  }

  private file(key: string): string {
    return join(this.folder, `${key}.json`);
  }
}
