import { raw } from 'objection';
import type { QueryBuilder } from 'objection';
import { lockByName } from '../client/advisory-lock.js';
import type { Tx } from '../client/database.js';
import { ReportDocument } from '../models/jobs.js';
import type { ReportFilter } from './base.queries.js';

/** The content and format of a requested document. */
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
  /** The problem code of its failure. */
  error: string | null;
  created_at: string;
  completed_at: string | null;
  expires_at: string | null;
}
/** A document that a process has claimed for printing. */
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

/** The printing process renews its claim more often than that. */
const TAKEN_UNTIL = () => raw(`clock_timestamp() + interval '1 minute'`);
const NOW = () => raw('clock_timestamp()');
const MAX_ATTEMPTS = 3;
const KEPT_UNTIL = () => raw(`clock_timestamp() + interval '24 hours'`);
/** Finished documents stay in the list for this long. */
const FORGOTTEN_BEFORE = () => raw(`clock_timestamp() - interval '7 days'`);

/** A user's own documents for display. */
const shown = (tx: Tx, userId: string): QueryBuilder<ReportDocument, DocumentRecord[]> =>
  ReportDocument.query(tx)
    .alias('d')
    .joinRelated('study', { alias: 's' })
    .where('d.requested_by_id', userId)
    .select(
      'd.id',
      'd.study_id',
      's.study_code',
      's.study_name',
      'd.question',
      'd.progress',
      'd.error',
      'd.created_at',
      'd.completed_at',
      'd.expires_at',
      raw(`case when d.status = 'completed' and d.expires_at <= clock_timestamp() then 'expired' else d.status end`).as(
        'status',
      ),
    )
    .castTo<DocumentRecord[]>();

/** A user's unfinished documents. Concurrent requests of the user run one after another until the commit. */
export async function documentsUnderWay(tx: Tx, userId: string): Promise<DocumentRecord[]> {
  await lockByName(tx, `documents ${userId}`);
  return shown(tx, userId).whereIn('d.status', ['pending', 'running']);
}

export async function insertDocument(tx: Tx, document: Omit<TakenDocument, 'id' | 'attempt'>): Promise<string> {
  return (await ReportDocument.query(tx).insert(document).returning('id')).id;
}

/** The last documents that a user requested, newest first. */
export const documentsOf = async (tx: Tx, userId: string, limit: number): Promise<DocumentRecord[]> =>
  shown(tx, userId).orderBy('d.created_at', 'desc').orderBy('d.id').limit(limit);

/** A user's own document; undefined: it does not exist, or no longer. */
export async function documentById(tx: Tx, userId: string, id: string): Promise<DocumentRecord | undefined> {
  return (await shown(tx, userId).where('d.id', id))[0];
}

/** The file of a user's own document, while it is kept. */
export async function documentFile(tx: Tx, userId: string, id: string): Promise<DocumentFile | undefined> {
  const [file] = await ReportDocument.query(tx)
    .where({ requested_by_id: userId, id, status: 'completed' })
    .where('expires_at', '>', NOW())
    .select('content', 'disposition', 'reach', 'study_id')
    .castTo<DocumentFile[]>();
  return file;
}

/** Claims one for printing, also from a crashed process; undefined: it is claimed, finished or deleted. */
export async function takeDocument(tx: Tx, id: string): Promise<TakenDocument | undefined> {
  const [taken] = await ReportDocument.query(tx)
    .patch({ status: 'running', attempt: raw('attempt + 1'), taken_until: TAKEN_UNTIL() })
    .where({ id })
    .where('attempt', '<', MAX_ATTEMPTS)
    .where((open) =>
      open
        .where({ status: 'pending' })
        .orWhere((left) => left.where({ status: 'running' }).where('taken_until', '<', NOW())),
    )
    .returning(['id', 'study_id', 'requested_by_id', 'request_id', 'question', 'attempt'])
    .castTo<TakenDocument[]>();
  return taken;
}

/** The document of a process, unless another has claimed it since. */
const printed = (tx: Tx, { id, attempt }: Attempt) =>
  ReportDocument.query(tx).where({ id, attempt, status: 'running' });

/** Stores the progress and renews the claim. */
export async function noteDocument(tx: Tx, attempt: Attempt, progress: number): Promise<void> {
  await printed(tx, attempt).patch({ progress: raw('greatest(progress, ?)', [progress]), taken_until: TAKEN_UNTIL() });
}

export async function completeDocument(tx: Tx, attempt: Attempt, file: Omit<DocumentFile, 'study_id'>): Promise<void> {
  await printed(tx, attempt).patch({
    ...file,
    status: 'completed',
    progress: 1,
    completed_at: NOW(),
    expires_at: KEPT_UNTIL(),
  });
}

export async function failDocument(tx: Tx, attempt: Attempt, error: string): Promise<void> {
  await printed(tx, attempt).patch({ status: 'failed', error, completed_at: NOW() });
}

/** Releases an unprinted document for another process. */
export async function releaseDocument(tx: Tx, attempt: Attempt): Promise<void> {
  await printed(tx, attempt).patch({ status: 'pending', progress: 0, attempt: raw('attempt - 1'), taken_until: null });
}

/** Unclaimed documents, the oldest first. Their processes have crashed, or were not available. */
export const forsakenDocuments = async (
  tx: Tx,
  limit: number,
): Promise<{ id: string; study_id: string; attempt: number; isLost: boolean }[]> =>
  ReportDocument.query(tx)
    .whereIn('status', ['pending', 'running'])
    .where(raw(`coalesce(taken_until, created_at + interval '5 seconds') < clock_timestamp()`))
    .orderBy('created_at')
    .limit(limit)
    .select('id', 'study_id', 'attempt', raw('attempt >= ?', [MAX_ATTEMPTS]).as('isLost'))
    .castTo<{ id: string; study_id: string; attempt: number; isLost: boolean }[]>();

/** Removes expired files and old documents. */
export async function sweepDocuments(tx: Tx): Promise<void> {
  await ReportDocument.query(tx).delete().where('created_at', '<', FORGOTTEN_BEFORE());
  await ReportDocument.query(tx)
    .patch({ status: 'expired', content: null })
    .where({ status: 'completed' })
    .where('expires_at', '<=', NOW());
}
