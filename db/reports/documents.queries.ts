import { execute, query } from '../client/query.js';
import type { Tx } from '../client/database.js';
import type { ReportFilter } from './base.queries.js';

/** What a document is asked to show, and how. */
export interface DocumentQuestion extends ReportFilter {
  page_size: 'letter' | 'a4';
  language: 'en' | 'de';
}
export interface DocumentRecord {
  id: string;
  study_id: string;
  study_code: string;
  study_name: string;
  question: DocumentQuestion;
  status: 'pending' | 'running' | 'completed' | 'failed' | 'expired';
  progress: number;
  /** The code of the problem for which it failed. */
  error: string | null;
  created_at: string;
  completed_at: string | null;
  expires_at: string | null;
}
/** One that a process has taken to print it. */
export interface TakenDocument {
  id: string;
  study_id: string;
  requested_by_id: string;
  request_id: string;
  question: DocumentQuestion;
  attempt: number;
}
export interface DocumentFile {
  content: Buffer;
  disposition: string;
  reach: string;
  study_id: string;
}
type Attempt = Pick<TakenDocument, 'id' | 'attempt'>;

/** Whoever prints one says so more often than that. */
const TAKEN = `interval '1 minute'`;
const MOST_ATTEMPTS = 3;
const KEPT = `interval '24 hours'`;
/** So long the list says what there was. */
const REMEMBERED = `interval '7 days'`;
const SHOWN = `select d.id, d.study_id, s.study_code, s.study_name, d.question, d.progress, d.error, d.created_at, d.completed_at, d.expires_at,
    case when d.status = 'completed' and d.expires_at <= clock_timestamp() then 'expired' else d.status end as status
  from report_documents d join studies s on s.id = d.study_id where d.requested_by_id = $1`;

/** A user's documents that are not done yet. Requests of the user at one moment take turns until the commit. */
export async function documentsUnderWay(tx: Tx, userId: string): Promise<DocumentRecord[]> {
  await execute(tx, 'select pg_advisory_xact_lock(hashtextextended($1, 0))', [`documents ${userId}`]);
  return query(tx, `${SHOWN} and d.status in ('pending', 'running')`, [userId]);
}

export async function insertDocument(
  tx: Tx,
  { study_id, requested_by_id, request_id, question }: Omit<TakenDocument, 'id' | 'attempt'>,
): Promise<string> {
  const rows = await query<{ id: string }>(
    tx,
    'insert into report_documents (study_id, requested_by_id, request_id, question) values ($1, $2, $3, $4) returning id',
    [study_id, requested_by_id, request_id, JSON.stringify(question)],
  );
  return rows[0]!.id;
}

/** The last documents that a user has asked for, newest first. */
export const documentsOf = (tx: Tx, userId: string, limit: number): Promise<DocumentRecord[]> =>
  query(tx, `${SHOWN} order by d.created_at desc, d.id limit $2`, [userId, limit]);

/** A user's own document; undefined: there is none, or no longer. */
export async function documentById(tx: Tx, userId: string, id: string): Promise<DocumentRecord | undefined> {
  return (await query<DocumentRecord>(tx, `${SHOWN} and d.id = $2`, [userId, id]))[0];
}

/** The file of a user's own document, while it is kept. */
export async function documentFile(tx: Tx, userId: string, id: string): Promise<DocumentFile | undefined> {
  const rows = await query<DocumentFile>(
    tx,
    `select content, disposition, reach, study_id from report_documents
     where requested_by_id = $1 and id = $2 and status = 'completed' and expires_at > clock_timestamp()`,
    [userId, id],
  );
  return rows[0];
}

/** Takes one to print it, also after a process that has gone; undefined: it is taken, over or gone. */
export async function takeDocument(tx: Tx, id: string): Promise<TakenDocument | undefined> {
  const rows = await query<TakenDocument>(
    tx,
    `update report_documents set status = 'running', attempt = attempt + 1, taken_until = clock_timestamp() + ${TAKEN}
     where id = $1 and attempt < ${MOST_ATTEMPTS} and (status = 'pending' or (status = 'running' and taken_until < clock_timestamp()))
     returning id, study_id, requested_by_id, request_id, question, attempt`,
    [id],
  );
  return rows[0];
}

/** Says how far it is, and that somebody prints it. */
export async function noteDocument(tx: Tx, { id, attempt }: Attempt, progress: number): Promise<void> {
  await execute(
    tx,
    `update report_documents set progress = greatest(progress, $3), taken_until = clock_timestamp() + ${TAKEN}
     where id = $1 and attempt = $2 and status = 'running'`,
    [id, attempt, progress],
  );
}

export async function completeDocument(
  tx: Tx,
  { id, attempt }: Attempt,
  { content, disposition, reach }: Omit<DocumentFile, 'study_id'>,
): Promise<void> {
  await execute(
    tx,
    `update report_documents set status = 'completed', progress = 1, content = $3, disposition = $4, reach = $5,
       completed_at = clock_timestamp(), expires_at = clock_timestamp() + ${KEPT}
     where id = $1 and attempt = $2 and status = 'running'`,
    [id, attempt, content, disposition, reach],
  );
}

export async function failDocument(tx: Tx, { id, attempt }: Attempt, error: string): Promise<void> {
  await execute(
    tx,
    `update report_documents set status = 'failed', error = $3, completed_at = clock_timestamp()
     where id = $1 and attempt = $2 and status = 'running'`,
    [id, attempt, error],
  );
}

/** Gives back one that was not printed, for another process. */
export async function releaseDocument(tx: Tx, { id, attempt }: Attempt): Promise<void> {
  await execute(
    tx,
    `update report_documents set status = 'pending', progress = 0, attempt = attempt - 1, taken_until = null
     where id = $1 and attempt = $2 and status = 'running'`,
    [id, attempt],
  );
}

/** Those that nobody prints, the oldest first. Their processes have gone, or were not there to take them. */
export const forsakenDocuments = (
  tx: Tx,
  limit: number,
): Promise<{ id: string; study_id: string; attempt: number; isLost: boolean }[]> =>
  query(
    tx,
    `select id, study_id, attempt, attempt >= ${MOST_ATTEMPTS} as "isLost" from report_documents
     where status in ('pending', 'running') and coalesce(taken_until, created_at + interval '5 seconds') < clock_timestamp() order by created_at limit $1`,
    [limit],
  );

/** Removes files whose time is over, and what is long past. */
export async function sweepDocuments(tx: Tx): Promise<void> {
  await execute(tx, `delete from report_documents where created_at < clock_timestamp() - ${REMEMBERED}`);
  await execute(
    tx,
    `update report_documents set status = 'expired', content = null where status = 'completed' and expires_at <= clock_timestamp()`,
  );
}
