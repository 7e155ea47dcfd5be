import type { Logger } from 'pino';
import { makeCheckpoints } from '../../db/audit/audit-checkpoints.js';
import type { CheckpointFolder } from '../../db/audit/audit-folder.js';
import type { AuditSigner } from '../../db/audit/audit-signing.js';
import type { Database } from '../../db/client/database.js';

/** Signs the chains that grew, periodically, first one interval after the start; one worker at a time. */
export class Checkpointer {
  private timer: NodeJS.Timeout | undefined;
  private work: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: {
      database: Database;
      log: Logger;
      signer: AuditSigner;
      folder: CheckpointFolder;
      everySeconds: number;
      /** Told of the end of each turn: `failed` if a chain was not signed, or its checkpoint not kept. */
      noteTurn?: ((turn: 'made' | 'failed') => void) | undefined;
    },
  ) {}

  start(): void {
    // A run that takes longer than the interval is not overtaken: the next one begins after it.
    const most = 2 ** 31 - 1;
    this.timer = setTimeout(
      () => {
        this.work = this.turn().then(() => {
          if (this.timer) this.start();
        });
      },
      Math.min(most, this.deps.everySeconds * 1000),
    );
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.work;
  }

  private async turn(): Promise<void> {
    const { database, log, signer, folder, noteTurn } = this.deps;
    try {
      const { made, faults } = await makeCheckpoints(database, { signer, folder });
      if (made.length > 0) log.info({ chains: made.length }, 'audit chains signed');
      for (const fault of faults)
        log.error(fault, 'an audit chain is not what its last checkpoint stated: it is not signed');
      noteTurn?.(faults.length > 0 ? 'failed' : 'made');
    } catch (fault) {
      noteTurn?.('failed');
      const { name, code } = fault as { name?: string; code?: string };
      log.error(
        { fault: name, code, folder: folder.path },
        'audit checkpoints could not be made; they are tried again',
      );
    }
  }
}
