import { setTimeout as sleep } from 'node:timers/promises';
import { importById, listImports } from '../../../db/imports/imports.queries.js';
import type { ImportRecord } from '../../../db/imports/imports.queries.js';
import { writeAsCaller } from '../../../db/client/request.js';
import type { Tx } from '../../../db/client/database.js';
import { studyById } from '../../../db/studies/studies.queries.js';
import { serializeError } from '../../../db/client/process/serialize-error.js';
import { authorizeUser, staff } from '../../http/access.js';
import type { Actor } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import type { Credential, RequestContext } from '../../http/request-context.js';
import type { Dependencies } from '../../dependencies.js';
import { importFile } from '../../imports/participant-import.service.js';
import type { ImportOptions, SentFile } from '../../imports/participant-import.service.js';
import type { ImportOverview } from '../../imports/files/result.js';

export interface ImportView {
  study: { id: string; study_code: string };
  recent: ImportRecord[];
}
const RECENT = 10;
/** After this time a waiting user is redirected to the progress page. */
const PATIENCE_MS = 1_500;

/** @throws 404 */
export async function loadImport(tx: Tx, studyId: string): Promise<ImportView> {
  const study = await studyById(tx, studyId);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  const { items } = await listImports(tx, studyId, { skip: 0, limit: RECENT });
  return { study, recent: items };
}

/** @throws 404 */
export async function loadProgress(tx: Tx, studyId: string, id: string): Promise<ImportRecord> {
  const found = await importById(tx, studyId, id);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such import.' });
  return found;
}

export interface ImportScope {
  services: Dependencies;
  actor: Actor;
  context: RequestContext;
  credential: Credential | undefined;
  studyId: string;
}

/** Imports a file, or does a dry run, in a transaction of its own, with the user's current rights. */
const importAs = (
  { services, actor, context, credential, studyId }: ImportScope,
  file: SentFile,
  options: ImportOptions,
) =>
  writeAsCaller(
    services.database,
    { userId: actor.id, login: credential?.sid, studyId },
    (row) => authorizeUser(staff.read, row, studyId, actor.session_epoch),
    ({ tx, audit }, admitted) => importFile(services, { tx, audit, actor: admitted, context }, studyId, file, options),
  );

type Chosen = Pick<ImportOptions, 'mode' | 'create_missing_sites'>;
const asChosen = (chosen: Chosen) => ({ ...chosen, skip_duplicates: true });

/** The result that an import would have; nothing is stored. */
export const previewImport = async (by: ImportScope, file: SentFile, chosen: Chosen): Promise<ImportOverview> =>
  (await importAs(by, file, { ...asChosen(chosen), dry_run: true, answer: 'overview' })) as ImportOverview;

/** The failing rows as a CSV file with reasons. */
export const failedRows = async (by: ImportScope, file: SentFile, chosen: Chosen): Promise<string> =>
  (await importAs(by, file, { ...asChosen(chosen), dry_run: true, answer: 'failed_rows' })) as string;

/**
 * Starts an import, which continues when its user leaves. Immediate refusals are thrown; later ones are in its record.
 */
export async function startImport(
  by: ImportScope,
  file: SentFile & { import_id: string },
  chosen: Chosen,
): Promise<void> {
  const running = importAs(by, file, { ...asChosen(chosen), dry_run: false, answer: 'overview' });
  let isWaitedFor = true;
  running.catch((fault: unknown) => {
    if (!isWaitedFor)
      by.services.log.warn({ request_id: by.context.requestId, err: serializeError(fault) }, 'an import failed');
  });
  await Promise.race([running, sleep(PATIENCE_MS, undefined, { ref: false })]);
  isWaitedFor = false;
}
