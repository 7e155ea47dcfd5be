import { randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import { nowIso } from '../../db/client/clock.js';
import { datasetOf } from '../../db/exports/datasets.js';
import { MAX_SHEET_ROWS } from '../../db/exports/sheet.js';
import { countRows, metricsOf } from '../../db/exports/statement.js';
import type { ExportRequest } from '../../db/exports/statement.js';
import { MAX_METRICS, isTooWide } from '../../db/exports/wide.js';
import { contentTypes, writeExport } from '../../db/exports/write.js';
import type { ExportFormat } from '../../db/exports/write.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { insertExport } from '../../db/exports/exports.queries.js';
import { writeAsCaller } from '../../db/client/request.js';
import type { Caller } from '../../db/client/request.js';
import { authorizeUser, exporterAccess } from '../http/access.js';
import type { Actor } from '../http/access.js';
import { invalid, problem } from '../http/errors.js';
import { publicUrl } from '../public-url.js';
import { attachment, safeName } from '../http/conventions/file-names.js';
import { auditActor } from '../http/audit-actor.js';
import { accepted, reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import type { NewExport } from './exports.schemas.js';
import type { Dependencies } from '../dependencies.js';
import { requireExportQuota } from '../identity/quotas.js';
import { getStudyOrThrow } from '../studies/studies.service.js';
import { streamAsCaller } from './streamed.js';
import { ensurePseudonymKey } from '../../db/exports/pseudonyms.queries.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

export interface ExportOptions {
  services: Dependencies;
  actor: Actor;
  context: RequestContext;
  studyId: string | undefined;
  siteId: string | undefined;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
}

/**
 * Runs a requested export: streams the file under the caller's own rights, or starts it in the background. Either way
 * the request is an audit record, committed before the first row is sent.
 * @throws 400 two studies, from after to, a dataset that cannot be de-identified or made wide, or has more rows than a
 * sheet; 404; 422 no study; 429 QUOTA_EXCEEDED
 */
export async function exportData(
  asked: ExportOptions,
  format: ExportFormat,
  input: Static<typeof NewExport>,
): Promise<Reply> {
  const {
    services: { database, settings },
    actor,
    context,
  } = asked;
  const request = requestOf(input, asked.studyId);
  const caller: Caller = { userId: actor.id, studyId: request.study_id, siteId: asked.siteId };
  const id = randomUUID();
  const background = input.mode === 'background';
  const study = await writeAsCaller(
    database,
    caller,
    (row) => authorizeUser(exporterAccess, row, request.study_id),
    async ({ tx, audit }) => {
      const found = await getStudyOrThrow(tx, request.study_id);
      await requireFitting(tx, format, request);
      if (background)
        await requireExportQuota(tx, asked.services.settings, { userId: actor.id, studyId: request.study_id });
      if (request.deidentify) await ensurePseudonymKey(tx, request.study_id);
      const { study_id, dataset, ...filters } = request;
      audit.record({
        ...auditActor(actor, context),
        study_id,
        action: 'data_exported',
        resource_type: 'export',
        resource_id: id,
        metadata: {
          dataset,
          format,
          deidentify: request.deidentify === true,
          ...(request.layout === 'wide' && { layout: 'wide' }),
          filters: Object.keys(input)
            .filter((name) => ['from', 'to', 'site_code', 'participant_ids'].includes(name))
            .sort(),
        },
      });
      if (background) {
        await insertExport(tx, {
          id,
          study_id,
          requested_by_id: actor.id,
          site_id: asked.siteId ?? null,
          dataset,
          format,
          filters,
        });
        await putOutbox(tx, [{ topic: 'export', studyId: study_id, subject: id }]);
      }
      return found;
    },
  );
  if (background) return accepted({ export_id: id, status_url: publicUrl(settings, `/api/exports/${id}`) });
  const about = { study_code: study.study_code, exported_at: nowIso() };
  // The columns are queried before the rows.
  const body = await streamAsCaller(asked, caller, (tx, sink) => writeExport(tx, request, format, about, sink));
  return reply(200, body, {
    'Content-Type': contentTypes[format],
    'Content-Disposition': attachment(exportFileName(study.study_code, request), format, about.exported_at, id),
  });
}

/**
 * What the format can hold, checked now, not in the middle of the answer.
 * @throws 400 TOO_MANY_COLUMNS, TOO_MANY_ROWS
 */
async function requireFitting(tx: Tx, format: ExportFormat, request: ExportRequest): Promise<void> {
  if (request.layout === 'wide' && isTooWide(await metricsOf(tx, request)))
    throw broken('layout', 'TOO_MANY_COLUMNS', `cannot be wide: there are more than ${MAX_METRICS} metrics and tasks`);
  if (format === 'xlsx' && (await countRows(tx, request)) > MAX_SHEET_ROWS)
    throw broken(
      'dataset',
      'TOO_MANY_ROWS',
      `does not fit a workbook: a sheet holds ${MAX_SHEET_ROWS} rows, and there are more`,
    );
}

function requestOf(
  { mode: _mode, study_id, dataset, ...rest }: Static<typeof NewExport>,
  contextStudy: string | undefined,
): ExportRequest {
  if (study_id && contextStudy && study_id.toLowerCase() !== contextStudy) throw problem('CONTEXT_CONFLICT');
  const study = study_id?.toLowerCase() ?? contextStudy;
  if (!study) throw invalid('study_id', 'REQUIRED', 'is required: in the body, as X-Study-ID or as a query');
  const given = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== null),
  ) as Partial<ExportRequest>;
  // As they are stored: an erasure finds the exports that name its participant.
  if (given.participant_ids) given.participant_ids = given.participant_ids.map((id) => id.toLowerCase());
  if (given.from && given.to && given.from > given.to) throw broken('from', 'FROM_AFTER_TO', 'lies after to');
  const { identified } = datasetOf(dataset);
  if (given.deidentify && identified)
    throw broken('deidentify', 'NOT_DEIDENTIFIABLE', `is not possible here: ${identified}`);
  if (given.layout === 'wide' && dataset !== 'task_summaries')
    throw broken('layout', 'ONLY_LONG', `is wide for task_summaries only: ${dataset} has no metrics`);
  return { ...given, study_id: study, dataset };
}

const broken = (path: string, code: string, sentence: string) =>
  problem('RULE_VIOLATED', {
    detail: `${path} ${sentence}.`,
    errors: [{ path, code, message: `${path} ${sentence}` }],
  });

/** The file name of an export; de-identified exports have no code that reveals their origin. */
export const exportFileName = (
  studyCode: string,
  { dataset, deidentify, layout }: Pick<ExportRequest, 'dataset' | 'deidentify' | 'layout'>,
): string[] => [deidentify ? 'deidentified' : safeName(studyCode), dataset, ...(layout === 'wide' ? ['wide'] : [])];
