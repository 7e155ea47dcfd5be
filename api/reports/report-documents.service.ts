import { createHash } from 'node:crypto';
import { nowIso } from '../../db/client/clock.js';
import type { PictureTheme } from '../../activities/html/picture-theme.js';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { signaturesOf } from '../../db/participants/signatures.queries.js';
import { adherenceMap, auditHead, sessionOfStudy, sessionTasks, studyHead } from '../../db/reports/document.queries.js';
import { participantRows, reportedSession } from '../../db/reports/participant.queries.js';
import { completion, enrollment, modules, sites, studySummary } from '../../db/reports/study.queries.js';
import type { KeptTally } from '../../db/reports/study.queries.js';
import { reportVersionOf } from '../../db/reports/version.queries.js';
import type { ReportVersion } from '../../db/reports/version.queries.js';
import { queryAll } from '../../db/client/query.js';
import { readAsCaller } from '../../db/client/request.js';
import type { ReportScope, ReportFilter } from '../../db/reports/base.queries.js';
import { withStudyScope, withFileLimits } from '../../db/client/transaction.js';
import { ConcurrencyLimiter } from '../util/concurrency-limiter.js';
import { authorizeUser, staff } from '../http/access.js';
import type { Actor } from '../http/access.js';
import { attachment } from '../http/conventions/file-names.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { plotNames } from './document/data.js';
import type {
  Imprint,
  ParticipantData,
  Plot,
  PlotName,
  PlotOf,
  SessionData,
  StudyData,
  Task,
} from './document/data.js';
import type { ReportLanguage } from './document/words.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import type { Dependencies } from '../dependencies.js';
import { reportFilter, participantReport } from './reports.service.js';
import { execute } from '../../db/client/query.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** The dependencies for reading, drawing and printing a document. */
export type Printing = Pick<Dependencies, 'database' | 'drawing' | 'printer' | 'reports' | 'tallies'>;
export interface Ordering {
  services: Printing;
  actor: Pick<Actor, 'id'>;
  context: Pick<RequestContext, 'requestId'>;
  studyId: string;
  siteId: string | undefined;
  query: ReportFilter & { page_size?: 'letter' | 'a4'; language?: ReportLanguage; theme?: PictureTheme };
  /** Called with the progress, from 0 to 1. */
  note?: (progress: number) => void;
}
/** A document that was printed. */
export interface Printed {
  pdf: Buffer;
  /** Its Content-Disposition. */
  disposition: string;
}
type Read<T> = (tx: Tx) => Promise<T>;

/**
 * Reads all data of a document or plot in one snapshot, under the caller's rights; no connection is held while it is
 * drawn.
 */
function snapshot<T>(
  { services, actor, studyId, siteId }: Ordering,
  participantId: string | undefined,
  read: Read<T>,
): Promise<T> {
  return readAsCaller(
    services.database,
    { userId: actor.id, studyId, siteId, participantId },
    (row) => authorizeUser(staff.read, row, studyId),
    async (tx) => {
      await withFileLimits(tx);
      return read(tx);
    },
  );
}

/** One document is read at a time, by one process of the database, so that other requests do not wait for it. */
const reading = new ConcurrencyLimiter(1);

const head = async (tx: Tx, studyId: string) => {
  const study = await studyHead(tx, studyId);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  return { study, audit: await auditHead(tx, studyId) };
};

/** The parts of a study's report, each cached until the study changes: document, page and plots use the same ones. */
const partsOfStudy = {
  summary: studySummary,
  enrollment,
  completion,
  adherence: adherenceMap,
  sites,
  modules,
} satisfies {
  [K in keyof Omit<StudyData, 'study'>]: (tx: Tx, question: ReportScope, tally?: KeptTally) => Promise<StudyData[K]>;
};
type Parts = typeof partsOfStudy;
/** Those that count all visits by window and status. */
const TALLIED: readonly (keyof Parts)[] = ['summary', 'completion'];
type Question = ReportScope & { study: string };

function partOf<K extends keyof Parts>(
  services: Pick<Dependencies, 'reports' | 'tallies'>,
  tx: Tx,
  version: ReportVersion,
  question: Question,
  name: K,
): Promise<StudyData[K]> {
  const compute = partsOfStudy[name] as (tx: Tx, question: ReportScope, tally?: KeptTally) => Promise<StudyData[K]>;
  return services.reports.answer(version, `part ${name}`, question, async () =>
    compute(tx, question, TALLIED.includes(name) ? await services.tallies.of(tx, version, question) : undefined),
  );
}

/** The data of a study's report. @param version of the study, read in this transaction */
export async function studyParts(
  services: Pick<Dependencies, 'reports' | 'tallies'>,
  tx: Tx,
  version: ReportVersion,
  question: Question,
): Promise<Omit<StudyData, 'study'>> {
  const part = <K extends keyof Parts>(name: K) => partOf(services, tx, version, question, name);
  return {
    summary: await part('summary'),
    enrollment: await part('enrollment'),
    completion: await part('completion'),
    adherence: await part('adherence'),
    sites: await part('sites'),
    modules: await part('modules'),
  };
}

const versionNow = async (tx: Tx, studyId: string): Promise<ReportVersion> => {
  const [[version]] = await queryAll<[ReportVersion]>(tx, [reportVersionOf(studyId)]);
  return version!;
};

/**
 * Prints the report of a study.
 * @returns also the sites that it covers @throws 404, 400 FROM_AFTER_TO, 503 BROWSER_UNAVAILABLE
 */
export async function printStudy(ordering: Ordering): Promise<Printed & { reach: string }> {
  const question = { ...reportFilter(ordering.studyId, ordering.query), study: ordering.studyId };
  let reach = '';
  const made = await printed(ordering, undefined, { type: 'study', id: ordering.studyId }, async (tx) => {
    const version = await versionNow(tx, ordering.studyId);
    ({ reach } = version);
    const { audit, ...data } = {
      ...(await head(tx, ordering.studyId)),
      ...(await studyParts(ordering.services, tx, version, question)),
    };
    return { content: { kind: 'study', data }, audit, name: [data.study.study_code, 'summary'] };
  });
  return { ...made, reach };
}

/** The PDF of a study. @throws as `printStudy` */
export const studyPdf = async (ordering: Ordering): Promise<Reply> => download(await printStudy(ordering));

/** The PDF of a participant, by its code. @throws 404, 503 BROWSER_UNAVAILABLE */
export async function participantPdf(ordering: Ordering, participantId: string): Promise<Reply> {
  const { from, to } = ordering.query;
  const made = await printed(ordering, participantId, { type: 'participant', id: participantId }, async (tx) => {
    const { audit, ...data } = {
      ...(await head(tx, ordering.studyId)),
      ...participantReport(await participantRows(tx, participantId, { from, to }), { from, to }),
      modules: await modules(tx, reportFilter(ordering.studyId, {})),
      signatures: await signaturesOf(tx, participantId),
    };
    return {
      content: { kind: 'participant', data },
      audit,
      name: [data.study.study_code, data.identity.participant_code],
    };
  });
  return download(made);
}

/** The PDF of a session. @throws 404, 503 BROWSER_UNAVAILABLE */
export async function sessionPdf(ordering: Ordering, sessionId: string): Promise<Reply> {
  const made = await printed(ordering, undefined, { type: 'session', id: sessionId }, async (tx) => {
    const found = await sessionOfStudy(tx, ordering.studyId, sessionId);
    if (!found) throw problem('NOT_FOUND', { detail: 'There is no such session.' });
    const { audit, ...data } = {
      ...(await head(tx, ordering.studyId)),
      ...(await reportedSession(tx, found.participant_id, found.id))!,
      day: found.day,
      tasks: await sessionTasks(tx, found.id),
      modules: await modules(tx, reportFilter(ordering.studyId, {})),
    };
    return {
      content: { kind: 'session', data },
      audit,
      name: [data.study.study_code, data.identity.participant_code, data.day],
    };
  });
  return download(made);
}

/** The progress after each step. */
const ALLOWED = 0.05,
  ITS_TURN = 0.1,
  READ = 0.4,
  DRAWN = 0.5,
  PRINTED = 0.95;

interface Document {
  content:
    | { kind: 'study'; data: StudyData }
    | { kind: 'participant'; data: ParticipantData }
    | { kind: 'session'; data: SessionData };
  audit: Imprint['audit'];
  name: readonly string[];
}

/**
 * Prints the result of `read` when its turn has come: ten concurrent requests are read one by one, with other requests
 * in between. A caller without access is refused at once.
 */
async function printed(
  ordering: Ordering,
  participantId: string | undefined,
  resource: { type: string; id: string },
  read: Read<Document>,
): Promise<Printed> {
  const { services, actor, context, studyId, query, note } = ordering;
  const { page_size = 'letter', language = 'en', from = null, to = null, site_code = null, arm = null } = query;
  await reading.run(() => snapshot(ordering, participantId, async () => undefined));
  let made: { document: Document; imprint: Imprint } | undefined;
  note?.(ALLOWED);
  const pdf = await services.printer.print(async () => {
    note?.(ITS_TURN);
    const document = await reading.run(() =>
      snapshot(ordering, participantId, async (tx) => {
        // Not the setting for each statement: statements planned once set that themselves.
        await execute(tx, 'set local max_parallel_workers = 0');
        return read(tx);
      }),
    );
    const { content, audit } = document;
    const checksum = createHash('sha256').update(canonicalJson(content.data)).digest('hex');
    const imprint: Imprint = {
      generated_at: nowIso(),
      checksum,
      audit,
      filters: { from, to, site_code, arm },
      language,
      page_size,
    };
    made = { document, imprint };
    note?.(READ);
    const page = await services.drawing.draw({ ...content, imprint } as Task);
    note?.(DRAWN);
    return page;
  }, page_size);
  note?.(PRINTED);
  const {
    document: { content, name },
    imprint,
  } = made!;
  await withStudyScope(services.database, studyId, async (work) => {
    work.audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action: 'report_printed',
      resource_type: resource.type,
      resource_id: resource.id,
      metadata: { kind: content.kind, page_size, language, data_sha256: imprint.checksum },
    });
  });
  return { pdf, disposition: attachment(name, 'pdf', imprint.generated_at) };
}

const download = ({ pdf, disposition }: Printed): Reply =>
  reply(200, pdf, {
    'Content-Type': 'application/pdf',
    'Content-Disposition': disposition,
    'Cache-Control': 'private, no-store',
  });

const isPlotName = (name: string): name is PlotName => (plotNames as readonly string[]).includes(name);

/** A plot of a study, as in its reports. @throws 404 another name, 422 a course without a participant */
export async function plot(ordering: Ordering, file: string, participantId: string | undefined): Promise<Reply> {
  const name = file.endsWith('.svg') ? file.slice(0, -4) : '';
  const { studyId, query, services } = ordering;
  const question = { ...reportFilter(studyId, query), study: studyId };
  const part = async <K extends keyof Parts>(tx: Tx, key: K) =>
    partOf(services, tx, await versionNow(tx, studyId), question, key);
  const read: { [Name in PlotName]: Read<PlotOf<Name>> } = {
    enrollment: async (tx) => ({ name: 'enrollment', data: await part(tx, 'enrollment') }),
    completion: async (tx) => ({ name: 'completion', data: await part(tx, 'completion') }),
    adherence: async (tx) => ({ name: 'adherence', data: await part(tx, 'adherence') }),
    metrics: async (tx) => ({ name: 'metrics', data: await part(tx, 'modules') }),
    course: async (tx) => {
      const { from, to } = query;
      const { identity, metrics } = participantReport(await participantRows(tx, participantId!, { from, to }), {
        from,
        to,
      });
      return {
        name: 'course',
        data: { participant_code: identity.participant_code, metrics, modules: await modules(tx, question) },
      };
    },
  };
  if (!isPlotName(name))
    throw problem('NOT_FOUND', {
      detail: `There is no such plot; there are ${plotNames.map((one) => `${one}.svg`).join(', ')}.`,
    });
  if (name === 'course' && !participantId)
    throw problem('VALIDATION_FAILED', {
      detail: 'participant_id is required for course.svg',
      errors: [
        { path: 'query.participant_id', code: 'REQUIRED', message: 'participant_id is required for course.svg' },
      ],
    });
  const of = await snapshot<Plot>(ordering, participantId, read[name]);
  const { language = 'en', theme = 'auto' } = query;
  const svg = await services.drawing.draw({ kind: 'plot', plot: of, language, theme });
  return reply(200, svg, {
    'Content-Type': 'image/svg+xml; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
  });
}
