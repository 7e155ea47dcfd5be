import { createHash } from 'node:crypto';
import { isZone, zoneName } from '../../../workflows/domain/util/dates.js';
import { isOwnDocument } from '../../../db/exports/full-study/claims.js';
import type { StudyDocument } from '../../../db/exports/full-study/document.js';
import { FORMAT, FORMAT_VERSION } from '../../../db/exports/full-study/format.js';
import { EXPORTED_STUDY_COLUMNS, ofTarget, studyTables } from '../../../db/exports/full-study/tables.js';
import { PLAIN_LIMITS, parseJson } from '../../http/body/json.js';
import { invalidFields, problem } from '../../http/errors.js';
import { check } from '../../http/validation/validation.js';
import { StudyDocument as DocumentSchema, StudyTarget } from '../full-study.schemas.js';
import { requireBoundedDesign } from './design-rows.js';
import { requireOrderOfDays } from './row-rules.js';

export interface ImportTarget {
  study_id?: string | undefined;
  study_code?: string | undefined;
  study_name?: string | undefined;
}
const KEYS = ['study_id', 'study_code', 'study_name'] as const;

/** The facts of a parsed document. */
export interface OpenedDocument {
  target: ImportTarget;
  format_version: number;
  /** Of all its bytes. */
  sha256: string;
  /** It has this service's own signature. */
  verified: boolean;
  /** The study's own fields that a load adopts. */
  study: Record<string, unknown>;
  hasDatacapture: boolean;
}
/** The service's document key, as needed for verification. */
export type VerifyingKey = { keyId: string; publicKey: string } | undefined;

/**
 * Parses the document and its target: named beside it, in its own top level, or around it as `{study_id, document}`.
 * @throws 400 another format, or a document with two targets, 413 study fields larger than any request may have, 422
 */
export function openDocument(
  bytes: Buffer,
  named: ImportTarget,
  key: VerifyingKey,
): { document: StudyDocument; opened: OpenedDocument } {
  const given = parseJson(bytes);
  const outer = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>;
  const inner = (typeof outer.document === 'object' && outer.document !== null ? outer.document : outer) as Record<
    string,
    unknown
  >;
  if (inner.format !== FORMAT)
    throw problem('FILE_UNREADABLE', { detail: `This is not a full export of a study: format is not ${FORMAT}.` });
  if (inner.format_version !== FORMAT_VERSION)
    throw problem('FILE_UNREADABLE', {
      detail: `The document has format_version ${String(inner.format_version)}; ${FORMAT_VERSION} is read here.`,
    });
  check(DocumentSchema, inner, 'body');
  const document = inner as unknown as StudyDocument;
  const strange = Object.keys(document.tables).find((name) => !studyTables.some((table) => table.name === name));
  if (strange !== undefined)
    throw problem('FILE_UNREADABLE', {
      detail: `The document has a table that is not known here: ${strange.slice(0, 60)}.`,
    });
  nameZones(document);
  requireDateOrder(document.study);
  requireBoundedDesign(document);
  requireOrderOfDays(document);
  const target: ImportTarget = {};
  for (const name of KEYS) {
    const said = [named[name], outer[name], inner[name]].filter(
      (value): value is string => typeof value === 'string' && value !== '',
    );
    if (new Set(said.map((value) => (name === 'study_id' ? value.toLowerCase() : value))).size > 1)
      throw problem('CONTEXT_CONFLICT', { detail: `${name} is given twice, and not the same.` });
    if (said[0] !== undefined) target[name] = said[0];
  }
  // A query's has been checked; that of a form or of the document has not.
  check(StudyTarget, target, 'body');
  const study = Object.fromEntries(
    [...EXPORTED_STUDY_COLUMNS.filter((name) => !ofTarget.has(name)), 'datacapture_enabled']
      .filter((name) => document.study[name] !== undefined)
      .map((name) => [name, document.study[name]]),
  );
  // The main thread adopts them, so they must not exceed a request's limits.
  parseJson(Buffer.from(JSON.stringify(study)), undefined, PLAIN_LIMITS);
  return {
    document,
    opened: {
      target,
      format_version: document.format_version,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      verified: isOwnDocument(bytes, document.manifest, key),
      study,
      hasDatacapture: (document.tables.datacapture_configs ?? []).length > 0,
    },
  };
}

/** @throws 400 END_BEFORE_START */
function requireDateOrder({ start_date, end_date }: StudyDocument['study']): void {
  if (typeof start_date !== 'string' || typeof end_date !== 'string' || end_date >= start_date) return;
  const message = 'study.end_date lies before study.start_date';
  throw problem('RULE_VIOLATED', {
    detail: `${message}.`,
    errors: [{ path: 'study.end_date', code: 'END_BEFORE_START', message }],
  });
}

/** Writes time zones as the API stores them. @throws 422 one that the database could not compute with */
function nameZones({ study, tables }: StudyDocument): void {
  const named: [string, Record<string, unknown>][] = [['study', study as Record<string, unknown>]];
  for (const table of ['sites', 'participants'])
    for (const [i, row] of (tables[table] ?? []).entries()) named.push([`tables.${table}.${i}`, row]);
  for (const [path, row] of named) {
    if (typeof row.timezone !== 'string') continue;
    if (!isZone(row.timezone))
      throw invalidFields([
        { path: `${path}.timezone`, code: 'FORMAT', message: `${path}.timezone is not a valid time-zone` },
      ]);
    row.timezone = zoneName(row.timezone);
  }
}
