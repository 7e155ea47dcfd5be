/** The thread that reads a full export and prepares it for loading, once. */
import '../../../db/client/process/traces.js';
import { parentPort, workerData } from 'node:worker_threads';
import { contentHash } from '../../../db/exports/full-study/content.js';
import type { StudyDocument } from '../../../db/exports/full-study/document.js';
import { ForeignReference } from '../../../db/exports/full-study/ids.js';
import { UnknownColumn, UnreadableDate, loadStudyDocument } from '../../../db/exports/full-study/load.js';
import type { Ask } from '../../../db/exports/full-study/load.js';
import type { Value } from '../../../db/client/query.js';
import { Problem, problem } from '../../http/errors.js';
import type { FaultEntry } from '../../http/errors.js';
import { openDocument } from './opened.js';
import type { ImportTarget, OpenedDocument, VerifyingKey } from './opened.js';

export interface ThreadData {
  bytes: Uint8Array;
  named: ImportTarget;
  key: VerifyingKey;
}
/** A task for the document; rows of a requested statement; a piece of the stored document. */
export type ThreadTask =
  | { task: 'open' }
  | { task: 'load'; studyId: string; userId: string; datacapture: Record<string, unknown> }
  | { task: 'hash' };
export type ToThread = ThreadTask | { rows: unknown[] } | { piece: Uint8Array };
/** A statement to be run; a task's result; a refusal for the caller. */
export type FromThread =
  | { sql: string; values: readonly Value[] }
  | { done: unknown }
  | { refused: string; code: string; status: number; errors: readonly FaultEntry[] | undefined; cause: string }
  | { fault: string };

const port = parentPort!;
const tell = (message: FromThread) => {
  port.postMessage(message);
};
const { bytes, named, key } = workerData as ThreadData;

let document: StudyDocument | undefined;
let opened: OpenedDocument | undefined;
let answered: (rows: unknown[]) => void;
const stored: Uint8Array[] = [];

const ask: Ask = <Found>(sql: string, values: readonly Value[]) =>
  new Promise<Found[]>((resolve) => {
    answered = (rows) => {
      resolve(rows as Found[]);
    };
    tell({ sql, values });
  });

async function run(task: ThreadTask): Promise<unknown> {
  if (task.task === 'open') {
    ({ document, opened } = openDocument(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), named, key));
    return opened;
  }
  if (task.task === 'load') {
    const { studyId, userId, datacapture } = task;
    const importing = { userId, verified: opened!.verified };
    const loaded = await loadStudyDocument(ask, studyId, document!, { datacapture, importing }).catch(refusalOf);
    // Frees memory for the stored document.
    document = undefined;
    return loaded;
  }
  return contentHash(JSON.parse(Buffer.concat(stored).toString('utf8')) as StudyDocument);
}

function refusalOf(fault: unknown): never {
  if (fault instanceof UnreadableDate)
    throw problem('VALIDATION_FAILED', {
      detail: fault.message,
      errors: [{ path: fault.path, code: 'FORMAT', message: fault.message }],
    });
  if (fault instanceof UnknownColumn)
    throw problem('FILE_UNREADABLE', {
      detail: `The document has values that this release has no column for: ${fault.message}.`,
      cause: fault,
    });
  throw fault instanceof ForeignReference
    ? problem('FILE_UNREADABLE', { detail: `The document is not whole: ${fault.message}.`, cause: fault })
    : fault;
}

function told(fault: unknown): FromThread {
  if (!(fault instanceof Problem))
    return { fault: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) };
  const { message: refused, code, status, options, cause } = fault;
  return { refused, code, status, errors: options.errors, cause: cause instanceof Error ? cause.message : '' };
}

port.on('message', (message: ToThread) => {
  if ('piece' in message) stored.push(message.piece);
  else if ('rows' in message) answered(message.rows);
  else
    run(message).then(
      (done) => {
        tell({ done });
      },
      (fault: unknown) => {
        tell(told(fault));
      },
    );
});
