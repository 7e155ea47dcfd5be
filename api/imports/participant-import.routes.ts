import { nowIso } from '../../db/client/clock.js';
import { attachment } from '../http/conventions/file-names.js';
import type { Static } from 'typebox';
import { importById, listImports } from '../../db/imports/imports.queries.js';
import type { ImportRecord } from '../../db/imports/imports.queries.js';
import { staff } from '../http/access.js';
import { requireKnownParts } from '../http/body/upload.js';
import { problem } from '../http/errors.js';
import { templateFile } from './files/template.js';
import { reply, route, response, upload, withContentTag } from '../http/route.js';
import { Type, listOf, paging } from '../http/common.schemas.js';
import { ImportQuery, ImportResult, ImportStatus, TemplateQuery } from './participant-import.schemas.js';
import { importFile } from './participant-import.service.js';

const path = '/api/studies/{study_id}/participants/import';
/** Not below /participants, where a participant's id follows. */
const imports = '/api/studies/{study_id}/participant-imports';
const tag = 'Participants';
const description =
  'Multipart form with the part `file` alone; options are in the query. Columns: participant_code, external_id, ' +
  'site_code, preferred_language; email, phone, timezone, date_of_birth and arm are optional, others are ignored. ' +
  'Valid rows are imported although others fail; each error names its row (the header is row 1), field and ' +
  'code. The header without participant_code, or with a column twice: 400 HEADER_INVALID. ' +
  'A study that is completed or archived enrolls nobody: STUDY_CLOSED; nor does an inactive site: SITE_CLOSED. ' +
  'The same file again finds everything there and says so (warning FILE_IMPORTED_BEFORE). ' +
  'A code that is a date or time is taken, and a warning CODE_IS_DATE names its row: spreadsheet programs make ' +
  'dates of codes such as 3-4. ';

const optionsOf = ({
  skip_duplicates = true,
  create_missing_sites = false,
  dry_run = false,
  mode = 'insert',
  answer = 'result',
}: Static<typeof ImportQuery>) => ({ skip_duplicates, create_missing_sites, dry_run, mode, answer });

const importing = (format: 'csv' | 'excel', summary: string, about: string) =>
  route({
    method: 'POST',
    path: `${path}/${format}`,
    operationId: format === 'csv' ? 'importParticipantsCsv' : 'importParticipantsExcel',
    tag,
    summary,
    description: description + about,
    access: staff.read,
    transaction: 'change',
    body: upload(),
    query: ImportQuery,
    responses: {
      200: response(ImportResult, { mediaTypes: ['text/csv'] }),
      400: undefined,
      403: undefined,
      409: undefined,
    },
    handle: async ({ tx, audit, actor, context, services, params, query, raw, parts, charset, disconnected }) => {
      requireKnownParts(parts, [], Object.keys(ImportQuery.properties));
      const options = optionsOf(query);
      const answer = await importFile(
        services,
        { tx, audit, actor, context },
        params.study_id,
        { format, bytes: raw, charset, signal: disconnected(), import_id: query.import_id },
        options,
      );
      if (options.answer === 'result') return answer;
      return reply(200, answer, {
        'Content-Type': 'text/csv; charset=utf-8',
        'Content-Disposition': attachment(['failed-rows'], 'csv', nowIso()),
      });
    },
  });

const shown = ({ id, ...record }: ImportRecord) => ({ import_id: id, ...record });

export const participantImportRoutes = [
  importing(
    'csv',
    'Import participants from a CSV file',
    'UTF-8 (with or without a byte order mark), UTF-16, windows-1252, or the charset of its part; comma, ' +
      'semicolon or tab. At most 200,000 lines, blank ones too.',
  ),
  importing(
    'excel',
    'Import participants from a workbook (.xlsx)',
    'The first sheet. Dates become YYYY-MM-DD, numbers keep the leading zeros of their format. Workbooks with ' +
      'macros are not taken.',
  ),
  route({
    method: 'GET',
    path: `${path}/template`,
    operationId: 'getImportTemplate',
    tag,
    summary: 'Get an import template',
    access: staff.read,
    transaction: 'read',
    query: TemplateQuery,
    responses: {
      200: response(undefined, {
        mediaTypes: ['text/csv', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
      }),
    },
    description:
      'A file with the columns that the import takes. `format=xlsx`: a workbook whose site_code column offers ' +
      'the study’s sites.',
    handle: ({ tx, params, query }) => templateFile(tx, params.study_id, query.format),
  }),
  route({
    method: 'GET',
    path: imports,
    operationId: 'listParticipantImports',
    tag,
    summary: 'List participant imports, newest first',
    description: 'Files that were imported, with how far each is and what became of its rows.',
    access: staff.read,
    transaction: 'read',
    query: Type.Object(paging),
    responses: { 200: listOf(ImportStatus) },
    handle: async ({ tx, params, query }) => {
      const { items, total } = await listImports(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      });
      return { items: items.map(shown), total };
    },
  }),
  route({
    method: 'GET',
    path: `${imports}/{import_id}`,
    operationId: 'getParticipantImport',
    tag,
    summary: 'Get the progress and result of an import',
    access: staff.read,
    transaction: 'read',
    responses: { 200: response(ImportStatus, { etag: true }) },
    description:
      'By the `import_id` that the import was sent with. A long file is `running` until everything of it is ' +
      'there at once.',
    handle: async ({ tx, params }) => {
      const found = await importById(tx, params.study_id, params.import_id);
      if (!found) throw problem('NOT_FOUND', { detail: 'There is no such import.' });
      return withContentTag(shown(found));
    },
  }),
];
