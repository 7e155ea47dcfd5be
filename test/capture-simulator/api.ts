import { ApiError, errorAnswer, textAnswer, type Answer } from './formats.js';
import { exportRecords } from './export.js';
import type { Journal } from './journal.js';
import * as metadata from './metadata.js';
import type { Params } from './params.js';
import type { CaptureProject } from './project.js';
import { deleteRecords, importRecords } from './records.js';
import type { CaptureUser } from './types.js';

/** The user of a token. */
export interface Caller {
  project: CaptureProject;
  user: CaptureUser;
}

export interface Outcome {
  answer: Answer;
  /** An import or a deletion was written. */
  applied: boolean;
  records: string[];
}

type Reader = (project: CaptureProject, params: Params) => Answer;

const READERS: Record<string, Reader> = {
  metadata: metadata.exportMetadata,
  instrument: metadata.exportInstruments,
  event: metadata.exportEvents,
  arm: metadata.exportArms,
  formEventMapping: metadata.exportFormEventMapping,
  repeatingFormsEvents: metadata.exportRepeating,
  project: metadata.exportProjectInfo,
  user: metadata.exportUsers,
  dag: metadata.exportGroups,
  exportFieldNames: metadata.exportFieldNames,
  generateNextRecordName: (project) => textAnswer(project.store.nextNumber()),
};

/** Settings of the project that only its designers may change; no token here belongs to one. */
const DESIGN_IMPORT: Record<string, string> = {
  metadata: 'You do not have Project Design privileges: the data dictionary cannot be imported',
  event: 'You do not have Project Design privileges: events cannot be imported or deleted',
  arm: 'You do not have Project Design privileges: arms cannot be imported or deleted',
  formEventMapping: 'You do not have Project Design privileges: form/event mappings cannot be imported',
  repeatingFormsEvents: 'You do not have Project Design privileges: repeating instruments cannot be imported',
  user: 'You do not have User Rights privileges: users cannot be imported or deleted',
  dag: 'You do not have Data Access Group privileges: groups cannot be imported, deleted or switched',
};

/** `import`, `delete` or `export`: what a call does, as the log and the faults name it. */
export function actionOf(params: Params): string {
  const asked = params.text('action');
  if (asked) return asked;
  return params.text('data') === undefined ? 'export' : 'import';
}

export function findCaller(projects: Iterable<CaptureProject>, token: string | undefined): Caller | undefined {
  if (!token) return undefined;
  for (const project of projects) {
    const user = project.design.users.find((candidate) => candidate.token?.toLowerCase() === token.toLowerCase());
    if (user) return { project, user };
  }
  return undefined;
}

function requireExport(user: CaptureUser): void {
  if (!user.api_export) throw new ApiError(403, 'You do not have API Export privileges');
}

function dispatch(
  { project, user }: Caller,
  params: Params,
  version: string,
  journal: Journal,
  callId: number,
): Outcome {
  const content = params.text('content') ?? '';
  const action = actionOf(params);
  const read = (answer: Answer): Outcome => ({ answer, applied: false, records: [] });
  if (content === 'record') {
    if (action === 'delete') {
      if (!user.record_delete) throw new ApiError(403, 'You do not have Delete Record privileges');
      return { ...deleteRecords(project, params, { journal, callId, via: 'delete' }), applied: true };
    }
    if (action === 'import') {
      if (!user.api_import) throw new ApiError(403, 'You do not have API Import/Update privileges');
      return { ...importRecords(project, params, user, { journal, callId, via: 'api' }), applied: true };
    }
    if (action === 'rename') throw new ApiError(403, 'You do not have Rename Record privileges');
    if (action !== 'export') throw new ApiError(400, `The value of the parameter "action" is not valid`);
    requireExport(user);
    return read(exportRecords(project, params, user));
  }
  if (content === 'version') return read(textAnswer(version));
  if (content === 'file' || content === 'fileRepository')
    throw new ApiError(400, 'Files are not available in this project: it has no file upload fields');
  const reader = READERS[content];
  if (!reader) throw new ApiError(400, 'The value of the parameter "content" is not valid');
  if (action !== 'export')
    throw new ApiError(403, DESIGN_IMPORT[content] ?? 'The value of the parameter "action" is not valid');
  requireExport(user);
  return read(reader(project, params));
}

/** Answers one API call; errors become answers in the format that the call asked errors in. */
export function answerCall(
  caller: Caller | undefined,
  params: Params,
  version: string,
  journal: Journal,
  callId: number,
): Outcome {
  try {
    // A wrong token is 403, not 401, whatever else is wrong with the call.
    if (!caller) throw new ApiError(403, 'You do not have permissions to use the API');
    return dispatch(caller, params, version, journal, callId);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { answer: errorAnswer(error.status, error.message, params.answerFormat()), applied: false, records: [] };
  }
}
