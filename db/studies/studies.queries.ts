import { raw } from 'objection';
import { Study } from '../models/records.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { configValue } from './study-config.queries.js';
import { isLongJson, writtenJson } from '../client/long-json.js';
import { execute } from '../client/query.js';
import type { Statement } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** The displayed columns of a study. */
export const STUDY_COLUMNS = `id, study_code, study_name, description, status, start_date, end_date, timezone,
  integration_mode,
  datacapture_enabled, consent_mode, config, created_at, updated_at`;
export type StudyRecord = Pick<
  Study,
  | 'id'
  | 'study_code'
  | 'study_name'
  | 'description'
  | 'status'
  | 'start_date'
  | 'end_date'
  | 'timezone'
  | 'integration_mode'
  | 'datacapture_enabled'
  | 'consent_mode'
  | 'config'
  | 'created_at'
  | 'updated_at'
>;

/** A study of a list: a long configuration is null, and read by itself (`writtenConfig`). */
export type ListedStudy = Omit<StudyRecord, 'config'> & { config: StudyRecord['config'] | null };
const LISTED_COLUMNS = STUDY_COLUMNS.replace(
  'config',
  `case when ${isLongJson('config')} then null else config end as config`,
);

/** Studies in the transaction's scope; `search` matches anywhere in code or name, literally. */
export function listStudies(
  tx: Tx,
  filter: Page & { status?: string | undefined; search?: string | undefined; studyId?: string | undefined },
): Promise<Listed<ListedStudy>> {
  const found = tx('studies').modify((q) => {
    if (filter.studyId) q.where('id', filter.studyId);
    if (filter.status) q.where('status', filter.status);
    if (filter.search)
      q.whereRaw(`position(folded(?) in folded(study_code || ' ' || study_name)) > 0`, [filter.search]);
  });
  return page(
    tx,
    found,
    LISTED_COLUMNS,
    filter,
    { study_code: 'study_code', study_name: 'study_name', created_at: 'created_at', start_date: 'start_date' },
    'id',
  );
}

export const writtenConfig = (tx: Tx, id: string): Promise<Buffer[]> =>
  writtenJson(tx, 'select config from studies where id = $1', [id]);

/**
 * How a study's row is locked until the transaction ends. `change`: prevents changes to the row; its contents can be
 * written. `contents`: also prevents additions to the study.
 */
export type StudyLock = 'change' | 'contents';

export type StudyToChoose = Pick<StudyRecord, 'id' | 'study_code' | 'study_name' | 'status'>;
/** Codes and names of the studies in the transaction's scope, as choices: a `StudyToChoose` each. */
export const studiesToChoose: Statement = {
  sql: 'select id, study_code, study_name, status from studies order by study_code limit 1000',
  values: [],
};

export async function studyById(tx: Tx, id: string, lock?: StudyLock): Promise<StudyRecord | undefined> {
  const found = Study.query(tx).findById(id).select(raw(STUDY_COLUMNS));
  if (lock === 'change') void found.forNoKeyUpdate();
  if (lock === 'contents') void found.forUpdate();
  return found;
}

/** Inserts a study under the caller's id, and adds it to the transaction's scope. */
export async function insertStudy(
  tx: Tx,
  study: Partial<Study> & { id: string; study_code: string; study_name: string },
): Promise<void> {
  // A user who is not an admin sees assigned studies only, and this one is not assigned yet.
  await execute(tx, `select set_config('app.studies', $1, true) where current_setting('app.studies', true) <> '*'`, [
    study.id,
  ]);
  await Study.query(tx).insert(study);
}

/** @param config the new configuration as JSON: it may be megabytes long */
export async function updateStudy(tx: Tx, id: string, change: Partial<Study>, config?: string): Promise<void> {
  if (Object.keys(change).length === 0 && config === undefined) return;
  await Study.query(tx)
    .findById(id)
    .patch({ ...change, ...(config !== undefined && { config: raw('?::jsonb', [config]) }) });
}

export async function assignStudy(tx: Tx, userId: string, studyId: string): Promise<void> {
  await tx('user_studies').insert({ user_id: userId, study_id: studyId }).onConflict().ignore();
}

/** Whether the study has data that deleting it would remove, or records of former data. */
export async function studyHasData(tx: Tx, id: string): Promise<boolean> {
  const study = await Study.query(tx)
    .findById(id)
    .where((q) => {
      void q
        .whereExists(Study.relatedQuery('participants'))
        .orWhereExists(tx('domain_events').whereRaw('domain_events.study_id = studies.id'));
    })
    .select('id');
  return study !== undefined;
}

export async function deleteStudy(tx: Tx, id: string): Promise<void> {
  await Study.query(tx).deleteById(id);
}

/** Whether a study's signatures require proof of identity; `usual` if the study does not say. */
export async function signaturesAskAgain(tx: Tx, studyId: string, usual: boolean): Promise<boolean> {
  const signatures = (await configValue(tx, studyId, 'signatures')) as { reauthenticate?: unknown } | null;
  return typeof signatures?.reauthenticate === 'boolean' ? signatures.reauthenticate : usual;
}
