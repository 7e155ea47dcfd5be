import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { makeCheckpoints } from '../../db/audit/audit-checkpoints.js';
import { exportLines } from '../../db/audit/audit-export.js';
import { CheckpointFolder } from '../../db/audit/audit-folder.js';
import { auditSigner } from '../../db/audit/audit-signing.js';
import { openDatabase } from '../../db/client/knex.js';
import { migrate } from '../../db/migrate.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { root, testEnvironment } from '../support/environment.js';
import { compiled, ran } from '../support/program.js';
import { unique } from '../support/http.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

const SECRET = 'a signing key of the ledger of tests';
export const signer = auditSigner(SECRET);

/**
 * A database of its own with audit chains, and a folder outside for their checkpoints: to be tampered with for good.
 */
export class Ledger {
  private constructor(
    readonly url: string,
    readonly owner: Database,
    readonly app: Database,
    readonly path: string,
    private readonly drop: () => Promise<void>,
  ) {}

  static async make(): Promise<Ledger> {
    const { database_url } = await service();
    const name = unique('ledger').replace('-', '_');
    const server = openDatabase({ url: database_url, name: 'ledgers', asOwner: true, poolMax: 1 });
    await server.raw(`create database ${name}`);
    const url = new URL(database_url);
    url.pathname = `/${name}`;
    await migrate(url.toString());
    const owner = openDatabase({ url: url.toString(), name: 'ledger-owner', asOwner: true, poolMax: 2 });
    const app = openDatabase({ url: url.toString(), name: 'ledger-app', poolMax: 4 });
    return new Ledger(
      url.toString(),
      owner,
      app,
      mkdtempSync(join(tmpdir(), 'research-assessment-ledger-')),
      async () => {
        await Promise.all([owner.destroy(), app.destroy()]);
        await server.raw(`drop database ${name} with (force)`);
        await server.destroy();
      },
    );
  }

  get folder(): CheckpointFolder {
    return new CheckpointFolder(join(this.path, 'checkpoints'));
  }

  async append(study: string | null, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      await withStudyScope(this.app, '*', async ({ audit }) =>
        audit.record({
          study_id: study,
          user_id: null,
          action: 'did',
          resource_type: 'thing',
          resource_id: String(i),
          metadata: { i, text: 'ü " \\ \u2028 😀', nested: { b: [1.5, null], a: true } },
        }),
      );
    }
  }

  checkpoint() {
    return makeCheckpoints(this.app, { signer, folder: this.folder });
  }

  /** With the owner's rights, who may drop what stands in the way. */
  async tamper(work: (tx: Tx) => Promise<unknown>): Promise<void> {
    await this.owner.transaction(async (tx) => {
      await tx.raw(`select set_config('app.studies', '*', true)`);
      await tx.raw('alter table audit_log disable trigger user; alter table audit_checkpoints disable trigger user');
      await work(tx);
    });
  }

  /** `npm run audit:verify`; with `known` it is told of the database and of nothing else but that. */
  verify(
    known: Record<string, string> = { AUDIT_SIGNING_KEY: SECRET, AUDIT_CHECKPOINT_DIR: this.folder.path },
  ): Promise<{ code: number; output: string }> {
    return ran([compiled('scripts/audit-verify')], testEnvironment({ DATABASE_URL: this.url, ...known }));
  }

  /** The offline verifier over an export of the database as it is, with nothing but the export and the key. */
  async verifyOffline(...more: string[]): Promise<{ code: number; output: string }> {
    const file = join(this.path, 'export.ndjson');
    let text = '';
    for await (const part of exportLines(this.app, this.folder)) text += part;
    writeFileSync(file, text);
    return offline(this.path, file, ...more);
  }

  async clear(): Promise<void> {
    await this.drop();
    await rm(this.path, { recursive: true, force: true });
  }
}

/** The verifier as a plain program, in a folder with no package beside it. */
export function offline(folder: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const key = join(folder, 'public.pem');
  writeFileSync(key, signer.publicKey);
  return ran(
    [join(root, 'scripts', 'audit-verify-export.mjs'), ...args, ...(args.includes('--key') ? [] : ['--key', key])],
    { PATH: process.env.PATH },
  );
}
