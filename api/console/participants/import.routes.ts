import { randomUUID } from 'node:crypto';
import { h } from 'preact';
import { nowIso } from '../../../db/client/clock.js';
import { staff } from '../../http/access.js';
import { Type, oneOf } from '../../http/common.schemas.js';
import { attachment } from '../../http/conventions/file-names.js';
import { Problem, brokenRule } from '../../http/errors.js';
import { reply } from '../../http/reply.js';
import { templateFile } from '../../imports/files/template.js';
import { sha256Of } from '../../imports/participant-import.service.js';
import type { SentFile } from '../../imports/participant-import.service.js';
import { forSpreadsheets } from '../routing/csv-file.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { refusalText } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { ImportPage, ImportProgressPage, ProgressPart } from './import.page.js';
import type { ImportForm } from './import.page.js';
import { failedRows, loadImport, loadProgress, previewImport, startImport } from './import.service.js';
import type { ImportScope } from './import.service.js';
import { UUID } from '../../../db/client/uuid.js';

const path = '/console/studies/{study_id}/import';

/** A workbook is a zip archive. */
const formatOf = (bytes: Buffer): 'csv' | 'excel' =>
  bytes.subarray(0, 2).toString('latin1') === 'PK' ? 'excel' : 'csv';
/** An import continues without a waiting client. */
const never = new AbortController().signal;

const chosenIn = (form: URLSearchParams) => ({
  mode: form.get('mode') === 'upsert' ? ('upsert' as const) : ('insert' as const),
  create_missing_sites: form.get('sites') === '1',
});
const formOf = (form: URLSearchParams): ImportForm => ({
  importId: randomUUID(),
  mode: chosenIn(form).mode,
  makesSites: chosenIn(form).create_missing_sites,
});

/** A file's columns keep their names. */
const asWritten = (path: string) => path;

/** The preview of a file, or its refusal. */
async function previewOf(
  by: ImportScope,
  file: SentFile,
  form: URLSearchParams,
  { words }: Ui,
): Promise<Partial<ImportForm>> {
  try {
    return { preview: { ...(await previewImport(by, file, chosenIn(form))), sha256: sha256Of(file.bytes) } };
  } catch (fault) {
    if (!(fault instanceof Problem) || fault.status >= 500) throw fault;
    return { fault: refusalText(words, fault, asWritten) };
  }
}

export const importPages = [
  consolePage({
    path,
    summary: 'Show the form by which participants are imported',
    access: staff.read,
    transaction: 'read',
    view: async ({ tx, params, ui }) => ({
      title: ui.words.participants.import,
      content: h(ImportPage, {
        view: await loadImport(tx, params.study_id.toLowerCase()),
        form: { importId: randomUUID() },
      }),
    }),
  }),
  consoleForm({
    path,
    summary: 'Preview or import a file of participants',
    access: staff.read,
    upload: true,
    submit: async ({ services, actor, context, credential, params, form, raw, disconnected, read, ui }) => {
      const by: ImportScope = { services, actor, context, credential, studyId: params.study_id.toLowerCase() };
      if (raw.length === 0) throw brokenRule('file', 'REQUIRED', ui.words.participants.fileNeeded);
      const given = form.get('import_id') ?? '';
      const importId = UUID.test(given) ? given.toLowerCase() : randomUUID();
      const file = { format: formatOf(raw), bytes: raw, signal: disconnected(), import_id: undefined };
      const step = form.get('step');
      if (step === 'failed_rows')
        return reply(200, forSpreadsheets(await failedRows(by, file, chosenIn(form))), {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': attachment(['failed-rows'], 'csv', nowIso()),
        });
      const isOther = step === 'import' && form.get('sha256') !== sha256Of(raw);
      if (step === 'import' && !isOther) {
        try {
          await startImport(by, { ...file, signal: never, import_id: importId }, chosenIn(form));
        } catch (fault) {
          // The form was sent twice: its import is running.
          if (!(fault instanceof Problem && fault.code === 'CONFLICT')) throw fault;
        }
        return redirect(`/console/studies/${by.studyId}/imports/${importId}`);
      }
      const shown = { ...formOf(form), ...(await previewOf(by, file, form, ui)) };
      const view = await read((tx) => loadImport(tx, by.studyId));
      const said = isOther ? { ...shown, fault: ui.words.participants.fileOther } : shown;
      return { title: ui.words.participants.import, content: h(ImportPage, { view, form: said }) };
    },
    again: async ({ read, params, form, fault, ui }) => {
      const view = await read((tx) => loadImport(tx, params.study_id.toLowerCase()));
      const said = { ...formOf(form), fault: refusalText(ui.words, fault, asWritten) };
      return { title: ui.words.participants.import, content: h(ImportPage, { view, form: said }) };
    },
  }),
  consolePage({
    path: `${path}-template`,
    summary: 'Get an empty file of participants',
    access: staff.read,
    transaction: 'read',
    query: Type.Object({ format: Type.Optional(oneOf('csv', 'xlsx')) }),
    view: ({ tx, params, query }) => templateFile(tx, params.study_id.toLowerCase(), query.format),
  }),
  consolePage({
    path: '/console/studies/{study_id}/imports/{import_id}',
    summary: 'Show how far an import is, and what it did',
    access: staff.read,
    transaction: 'read',
    view: async ({ tx, params, ui }) => ({
      title: ui.words.participants.progressTitle,
      content: h(ImportProgressPage, {
        record: await loadProgress(tx, params.study_id.toLowerCase(), params.import_id.toLowerCase()),
      }),
    }),
  }),
  consolePage({
    path: '/console/studies/{study_id}/imports/{import_id}/progress',
    summary: 'Show the part of a page that says how far an import is',
    access: staff.read,
    transaction: 'read',
    background: true,
    view: async ({ tx, params, ui }) => ({
      title: ui.words.participants.progressTitle,
      fragment: true,
      content: h(ProgressPart, {
        record: await loadProgress(tx, params.study_id.toLowerCase(), params.import_id.toLowerCase()),
      }),
    }),
  }),
];
