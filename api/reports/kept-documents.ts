import type { Logger } from 'pino';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import {
  completeDocument,
  failDocument,
  forsakenDocuments,
  noteDocument,
  releaseDocument,
  sweepDocuments,
  takeDocument,
} from '../../db/reports/documents.queries.js';
import type { DocumentQueue } from '../dependencies.js';
import type { TakenDocument } from '../../db/reports/documents.queries.js';
import { Problem } from '../http/errors.js';
import { printStudy } from './report-documents.service.js';
import type { Printing } from './report-documents.service.js';

const BEAT_MS = 15_000,
  LOOK_MS = 30_000;
const AT_A_LOOK = 10;

/**
 * Prints requested documents and keeps them. A document is a row: this process prints its own requests, and those
 * abandoned by others. The process that claimed a document renews its claim every few seconds.
 */
export class KeptDocuments implements DocumentQueue {
  private readonly printing = new Map<string, Promise<void>>();
  private closed = false;
  private looking: NodeJS.Timeout | undefined;

  constructor(private readonly services: Printing & { log: Logger }) {}

  watch(): void {
    this.looking = setInterval(() => {
      this.look().catch(this.warned('forsaken documents were not looked for'));
    }, LOOK_MS).unref();
  }

  begin(id: string, studyId: string): void {
    if (this.closed || this.printing.has(id)) return;
    const printed = this.print(id, studyId)
      .catch(this.warned('a document was not kept'))
      .finally(() => this.printing.delete(id));
    this.printing.set(id, printed);
  }

  sweep(): Promise<void> {
    return withStudyScope(this.services.database, '*', ({ tx }) => sweepDocuments(tx));
  }

  /** The printer is closed at the same time. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.looking);
    await Promise.all(this.printing.values());
  }

  private async look(): Promise<void> {
    const { database } = this.services;
    const forsaken = await readInScope(database, '*', (tx) => forsakenDocuments(tx, AT_A_LOOK));
    for (const one of forsaken) {
      if (this.printing.has(one.id)) continue;
      if (one.isLost) await withStudyScope(database, one.study_id, ({ tx }) => failDocument(tx, one, 'LOST'));
      else this.begin(one.id, one.study_id);
    }
  }

  private async print(id: string, studyId: string): Promise<void> {
    const { database } = this.services;
    const order = await withStudyScope(database, studyId, ({ tx }) => takeDocument(tx, id));
    if (!order) return;
    let done = 0;
    const note = (progress: number): void => {
      done = progress;
      withStudyScope(database, studyId, ({ tx }) => noteDocument(tx, order, done)).catch(
        this.warned('the progress of a document was not written'),
      );
    };
    const beat = setInterval(() => note(done), BEAT_MS);
    try {
      const { pdf, disposition, reach } = await printStudy({ ...orderingOf(order), services: this.services, note });
      await withStudyScope(database, studyId, ({ tx }) =>
        completeDocument(tx, order, { content: pdf, disposition, reach }),
      );
    } catch (fault) {
      await withStudyScope(database, studyId, ({ tx }) =>
        this.closed ? releaseDocument(tx, order) : failDocument(tx, order, codeOf(fault)),
      );
      if (!this.closed && !(fault instanceof Problem)) throw fault;
    } finally {
      clearInterval(beat);
    }
  }

  private warned(what: string): (fault: unknown) => void {
    return (fault) => this.services.log.warn({ err: fault }, what);
  }
}

const orderingOf = ({ study_id, requested_by_id, request_id, question }: TakenDocument) => ({
  actor: { id: requested_by_id },
  context: { requestId: request_id },
  studyId: study_id,
  siteId: undefined,
  query: question,
});

const codeOf = (fault: unknown): string => (fault instanceof Problem ? fault.code : 'INTERNAL');
