import { putOutbox } from '../../db/outbox.js';
import { completeImport, importById, importedBefore } from '../../db/queries/imports.js';
import { addSites, insertImported, knownParticipants, rehearse, updateImported } from '../../db/queries/participant-import.js';
import type { ImportProgress } from '../import/progress.js';
import { readRows } from '../import/rows.js';
import type { ReadFile } from '../import/rows.js';
import type { Sheet } from '../import/sheet.js';
import { problem } from '../errors.js';
import { by } from '../record.js';
import { planImport } from './participant-import-plan.js';
import type { ImportPlan, PlannedRow, RowError } from './participant-import-plan.js';
import { READ_BY_ANCHOR, sourcesChanged } from './participants.js';
import type { Change } from './studies.js';

export interface ImportOptions { skip_duplicates: boolean; create_missing_sites: boolean; dry_run: boolean; mode: 'insert' | 'upsert' }

const brief = ({ row, fields }: PlannedRow) =>
  ({ row, participant_code: fields.participant_code, external_id: fields.external_id ?? null, site_code: fields.site_code ?? null });

/** Roles that may make sites: an import makes them for these only. */
const MAKES_SITES = ['admin', 'researcher', 'data_manager'];

/**
 * Imports a file's participants (decisions, "Import"): valid rows are taken although others fail, all in one
 * transaction, each with the same audit record, anchor and workflow as POST …/participants gives it. A dry run does
 * the same and undoes it. The same file again finds everything there, and is told to be the same.
 * @param open reads the file, when it is known that it may be imported
 * @throws 400 a file that cannot be read, 403 create_missing_sites by a role that may not, 409 an import_id that is taken
 */
export async function importParticipants(change: Change, studyId: string, open: () => Promise<Sheet>, options: ImportOptions, progress: ImportProgress) {
  const { tx, audit, actor, context } = change;
  const { id, sha256 } = progress.made;
  if (await importById(tx, studyId, id)) throw problem('CONFLICT', { detail: 'import_id is that of another import.', errors: [{ path: 'query.import_id', code: 'TAKEN', message: 'import_id is that of another import' }] });
  if (options.create_missing_sites && !MAKES_SITES.includes(actor.role)) throw problem('FORBIDDEN', { detail: `The role ${actor.role} does not create sites.` });
  const before = await importedBefore(tx, studyId, sha256);
  progress.note('reading', 0, null);
  const sheet = await open();
  const file = await readRows(sheet);
  const rows = file.rows.length;
  progress.note('deciding', 0.2, rows);
  const work = async () => {
    const plan = await planImport(tx, studyId, file.rows, options);
    progress.note('writing', 0.3, rows);
    await write(change, studyId, plan, options, (done) => progress.note('writing', 0.3 + 0.5 * (done / rows), rows));
    progress.note('recording', 0.85, rows);
    return plan;
  };
  const plan = options.dry_run ? await rehearse(tx, work) : await work();
  if (!options.dry_run) {
    audit.record({
      ...by(actor, context), study_id: studyId, action: 'participants_imported', resource_type: 'study', resource_id: studyId,
      metadata: { rows: file.rows.length, imported: plan.fresh.length, updated: plan.changed.length, skipped: plan.skipped.length, errors: plan.errors.length, sha256 },
    });
  }
  const result = resultOf(file, plan, options, sheet.notes, before);
  // A rehearsal leaves a record only where somebody asked how far it is.
  if (!options.dry_run || progress.asked) await completeImport(tx, progress.made, result);
  return { result, file };
}

/** Writes what the plan says, and moves those rows of it that somebody else was faster with to where they belong. */
async function write({ tx, audit, actor, context }: Change, studyId: string, plan: ImportPlan, options: ImportOptions, told: (done: number) => void): Promise<void> {
  const record = (action: string, type: string, id: string, fields: string[]) => {
    if (!options.dry_run) audit.record({ ...by(actor, context), study_id: studyId, action, resource_type: type, resource_id: id, metadata: { fields } });
  };
  const siteIds = new Map((await addSites(tx, studyId, plan.newSites)).map(({ id, site_code, added }) => {
    if (added) record('site_created', 'site', id, ['site_code']);
    return [site_code, id] as const;
  }));
  const values = ({ fields, siteId }: PlannedRow) => {
    const { site_code, ...own } = fields;
    return {
      external_id: null, preferred_language: null, email: null, phone: null, timezone: null, date_of_birth: null, arm: null, ...own,
      participant_code: fields.participant_code, site_id: siteId ?? (site_code ? siteIds.get(site_code) ?? null : null),
    };
  };
  const ids = await insertImported(tx, studyId, plan.fresh.map(values), told);
  for (const row of plan.fresh) {
    const id = ids.get(row.fields.participant_code);
    if (id) record('participant_created', 'participant', id, Object.keys(row.fields).sort());
  }
  await settle(tx, studyId, plan, ids, options);
  await updateImported(tx, plan.changed.map((row) => {
    const given = Object.fromEntries(Object.entries(values(row)).filter(([, value]) => value !== null));
    return { ...row.known, ...given };
  }));
  for (const row of plan.changed) record('participant_changed', 'participant', row.known.id, row.changes);
  const moved = plan.changed.filter(({ changes }) => changes.some((field) => READ_BY_ANCHOR.includes(field)));
  if (!options.dry_run) await putOutbox(tx, moved.map(({ known }) => sourcesChanged(known, actor, context)));
}

/** Rows that were not inserted: their code or external id was taken meanwhile, or is of a participant at a site out of the caller's reach. */
async function settle(tx: Change['tx'], studyId: string, plan: ImportPlan, ids: Map<string, string>, options: ImportOptions): Promise<void> {
  const missed = plan.fresh.filter(({ fields }) => !ids.has(fields.participant_code));
  if (missed.length === 0) return;
  plan.fresh = plan.fresh.filter(({ fields }) => ids.has(fields.participant_code));
  const known = await knownParticipants(tx, studyId, [], missed.flatMap(({ fields }) => fields.external_id ?? []));
  for (const row of missed) {
    const { participant_code, external_id } = row.fields;
    const other = external_id !== undefined && known.some((one) => one.external_id === external_id && one.participant_code !== participant_code);
    if (other) plan.errors.push({ row: row.row, field: 'external_id', code: 'DUPLICATE_EXTERNAL_ID', message: 'external_id is that of another participant of the study' });
    else if (options.skip_duplicates && options.mode === 'insert') plan.skipped.push({ ...row, reason: 'DUPLICATE_PARTICIPANT_CODE' });
    else plan.errors.push({ row: row.row, field: 'participant_code', code: 'DUPLICATE_PARTICIPANT_CODE', message: 'participant_code is that of another participant of the study' });
  }
}

function resultOf({ header, rows }: ReadFile, plan: ImportPlan, options: ImportOptions, notes: Record<string, string>, before: string | undefined) {
  const inOrder = <T extends { row: number }>(list: T[]): T[] => [...list].sort((a, b) => a.row - b.row);
  return {
    success: plan.errors.length === 0, dry_run: options.dry_run, total_rows: rows.length,
    imported_count: plan.fresh.length, skipped_count: plan.skipped.length, error_count: plan.errors.length, updated_count: plan.changed.length,
    errors: inOrder<RowError>(plan.errors),
    imported_participants: plan.fresh.map(brief),
    skipped_participants: inOrder(plan.skipped).map((row) => ({ ...brief(row), reason: row.reason })),
    updated_participants: plan.changed.map((row) => ({ ...brief(row), fields: row.changes })),
    created_sites: plan.newSites,
    warnings: [
      ...(before === undefined ? [] : [{ code: 'FILE_IMPORTED_BEFORE', message: `The same file was imported at ${before}: what it brought is there` }]),
      ...header.unknown.map((column) => ({ code: 'UNKNOWN_COLUMN', message: `The column ${column} is not known and was left out` })),
    ],
    file: notes,
  };
}
