import { reportVersionOf } from '../../db/reports/version.queries.js';
import type { ReportVersion } from '../../db/reports/version.queries.js';
import {
  documentById,
  documentFile,
  documentsOf,
  documentsUnderWay,
  insertDocument,
} from '../../db/reports/documents.queries.js';
import type { DocumentQuestion, DocumentRecord } from '../../db/reports/documents.queries.js';
import { queryAll } from '../../db/client/query.js';
import { writeAsCaller } from '../../db/client/request.js';
import type { Tx } from '../../db/client/database.js';
import type { Dependencies } from '../dependencies.js';
import { authorizeUser, staff } from '../http/access.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import type { RequestContext } from '../http/request-context.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import { reportFilter } from './reports.service.js';

/** The most documents of a user that are printed at a time. */
const MAX_UNDER_WAY = 5;
const RECENT = 20;

/**
 * Requests a study's document, which is printed in the background. A repeated request for the same document during
 * printing gets the same one.
 * @returns its id @throws 400 FROM_AFTER_TO, 404, 429 QUOTA_EXCEEDED
 */
export async function orderDocument(
  { services, actor, context }: { services: Dependencies; actor: Actor; context: RequestContext },
  studyId: string,
  question: DocumentQuestion,
): Promise<string> {
  reportFilter(studyId, question);
  const id = await writeAsCaller(
    services.database,
    { userId: actor.id, studyId },
    (row) => authorizeUser(staff.read, row, studyId),
    async ({ tx }) => {
      const underWay = await documentsUnderWay(tx, actor.id);
      const same = underWay.find((one) => one.study_id === studyId && isSame(one.question, question));
      if (same) return same.id;
      if (underWay.length >= MAX_UNDER_WAY)
        throw problem('QUOTA_EXCEEDED', {
          detail: `You have ${MAX_UNDER_WAY} documents that are not printed yet: wait until one is.`,
          headers: { 'Retry-After': '30' },
        });
      const asked = { study_id: studyId, requested_by_id: actor.id, request_id: context.requestId, question };
      return insertDocument(tx, asked);
    },
  );
  services.documents.begin(id, studyId);
  return id;
}

const PARTS = ['from', 'to', 'site_code', 'arm', 'page_size', 'language'] as const;
const isSame = (one: DocumentQuestion, other: DocumentQuestion): boolean =>
  PARTS.every((part) => one[part] === other[part]);

/** The user's last documents, newest first. */
export const recentDocuments = (tx: Tx, actor: Actor): Promise<DocumentRecord[]> => documentsOf(tx, actor.id, RECENT);

/** A document of the user's own. @throws 404 */
export async function ownDocument(tx: Tx, actor: Actor, id: string): Promise<DocumentRecord> {
  const found = await documentById(tx, actor.id, id);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such document.' });
  return found;
}

/** The file, if the requester still sees the same sites as at the request. @throws 404 */
export async function ownFile(tx: Tx, actor: Actor, id: string): Promise<Reply> {
  const file = await documentFile(tx, actor.id, id);
  const [[version] = []] = file ? await queryAll<[ReportVersion]>(tx, [reportVersionOf(file.study_id)]) : [];
  if (!file || version?.reach !== file.reach)
    throw problem('NOT_FOUND', { detail: 'There is no such file, or no longer: make the document again.' });
  return reply(200, file.content, {
    'Content-Type': 'application/pdf',
    'Content-Disposition': file.disposition,
    'Cache-Control': 'private, no-store',
  });
}
