import { failImport, noteImport } from '../../../db/imports/imports.queries.js';
import type { ImportPhase, NewImport } from '../../../db/imports/imports.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import { serializeError } from '../../../db/client/process/serialize-error.js';
import type { Dependencies } from '../../dependencies.js';

/** Shorter files are done before anyone asks. */
const LONG = 1_000;

/**
 * Stores the progress of a long import, in transactions of its own: others can't see into the import's. It never waits
 * for them: an import holds a connection, and many that wait for a second one would deadlock.
 */
export class ImportProgress {
  private writing: Promise<void> | undefined;
  private noted = false;

  constructor(
    private readonly services: Pick<Dependencies, 'database' | 'log'>,
    readonly made: NewImport,
    readonly asked: boolean,
  ) {}

  note(phase: ImportPhase, progress: number, total: number | null): void {
    if (this.writing || !(this.asked || (total !== null && total >= LONG))) return;
    this.noted = true;
    this.writing = this.written(
      withStudyScope(this.services.database, this.made.study_id, ({ tx }) =>
        noteImport(tx, this.made, { phase, progress, total_rows: total }),
      ),
    ).finally(() => {
      this.writing = undefined;
    });
  }

  /** The import failed: nothing of it was stored. */
  async failed(): Promise<void> {
    await this.writing;
    if (this.noted)
      await this.written(
        withStudyScope(this.services.database, this.made.study_id, ({ tx }) => failImport(tx, this.made)),
      );
  }

  private written(work: Promise<void>): Promise<void> {
    return work.catch((fault: unknown) => {
      this.services.log.warn({ err: serializeError(fault) }, 'the progress of an import was not written');
    });
  }
}
