import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, open, readFile, readdir, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keyIdOf } from './audit-signing.js';
import type { AuditSigner, Checkpoint } from './audit-signing.js';

const CHAIN = /^(service|[0-9a-f-]{36})$/;
const LINES = '.ndjson',
  PEM = '.pem';

/**
 * The folder outside the database that keeps checkpoints: a file for each chain, a line for each checkpoint, and the
 * public keys that signed them. The owner of the database does not (or should not) own this folder: it reveals records
 * that were cut, rewritten or deleted in the database.
 */
export class CheckpointFolder {
  /** The rows of each chain's last checkpoint, as this object has read them here. */
  readonly #last = new Map<string, number>();

  constructor(readonly path: string) {}

  private file(chain: string): string {
    if (!CHAIN.test(chain)) throw new Error(`not a chain: ${chain}`);
    return join(this.path, chain + LINES);
  }

  /** Creates the folder and stores the signer's public key in it. @throws Error when it cannot be written */
  async prepare(signer: AuditSigner): Promise<void> {
    await mkdir(join(this.path, 'keys'), { recursive: true, mode: 0o700 });
    const file = join(this.path, 'keys', signer.keyId + PEM);
    if ((await readIfThere(file)) === signer.publicKey) return;
    // Atomic: another process may be reading it.
    const draft = `${file}.${randomUUID()}`;
    await writeFile(draft, signer.publicKey, { mode: 0o600 });
    await rename(draft, file);
  }

  /** All public keys that ever signed, by key id. The id is computed from the content, not from the file name. */
  async keys(): Promise<Map<string, string>> {
    const names = (await inFolder(join(this.path, 'keys'))).filter((name) => name.endsWith(PEM));
    const keys = await Promise.all(names.map((name) => readFile(join(this.path, 'keys', name), 'utf8')));
    return new Map(keys.map((pem) => [keyIdOf(pem), pem]));
  }

  async chains(): Promise<string[]> {
    return (await inFolder(this.path))
      .filter((name) => name.endsWith(LINES))
      .map((name) => name.slice(0, -LINES.length))
      .filter((chain) => CHAIN.test(chain));
  }

  /** A chain's checkpoints in the order of their rows. A line that a crash left incomplete is skipped. */
  async read(chain: string): Promise<Checkpoint[]> {
    const text = await readIfThere(this.file(chain));
    const found = new Map<string, Checkpoint>();
    for (const [at, line] of text.split('\n').entries()) {
      if (line === '') continue;
      const checkpoint = parsed(line);
      if (checkpoint) found.set(checkpoint.signature, checkpoint);
      else if (!text.endsWith('\n') && at === text.split('\n').length - 1) continue;
      else throw new Error(`${this.file(chain)}, line ${at + 1} is not a checkpoint`);
    }
    return [...found.values()].sort((a, b) => a.rows - b.rows);
  }

  /**
   * Whether a chain's last checkpoint here is the one of so many rows: its line may be missing after a full disk or a
   * crash. A file is read once for each checkpoint, by the process that asks.
   */
  async endsAt(chain: string, rows: number): Promise<boolean> {
    if (this.#last.get(chain) !== rows) this.#last.set(chain, (await this.read(chain)).at(-1)?.rows ?? 0);
    return this.#last.get(chain) === rows;
  }

  /** The checkpoints of every chain, or of one. */
  async readAll(only?: string): Promise<Map<string, Checkpoint[]>> {
    const chains = (await this.chains()).filter((chain) => only === undefined || chain === only);
    return new Map(await Promise.all(chains.map(async (chain) => [chain, await this.read(chain)] as const)));
  }

  /** Adds missing checkpoints, and returns when they are on the disk. */
  async keep(chain: string, checkpoints: readonly Checkpoint[]): Promise<void> {
    const there = new Set((await this.read(chain)).map(({ signature }) => signature));
    const missing = checkpoints.filter(({ signature }) => !there.has(signature));
    if (missing.length === 0) return;
    const before = await readIfThere(this.file(chain));
    const torn = before !== '' && !before.endsWith('\n');
    // An incomplete line of a crash is cut off, in one step that needs no room: it is written again.
    if (torn) await truncate(this.file(chain), Buffer.byteLength(before.slice(0, before.lastIndexOf('\n') + 1)));
    await appendFile(this.file(chain), missing.map((checkpoint) => `${JSON.stringify(checkpoint)}\n`).join(''), {
      mode: 0o600,
    });
    const handle = await open(this.file(chain), 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

function parsed(line: string): Checkpoint | undefined {
  try {
    const value = JSON.parse(line) as Partial<Checkpoint>;
    return typeof value.signature === 'string' && typeof value.rows === 'number' && typeof value.witness === 'string'
      ? (value as Checkpoint)
      : undefined;
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw fault;
  }
}

async function inFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw fault;
  }
}
