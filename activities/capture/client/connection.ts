import { SecretBox, SecretUnreadable } from '../../../db/client/crypto.js';
import { findConfig, noteConnection, tokenPlace, trialPlace } from '../../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { withStudyScope, readInScope } from '../../../db/client/transaction.js';
import { encryptionKeyBytes } from '../../../settings.js';
import { missingDataCodes } from '../../../workflows/domain/capture/missing-codes.js';
import type { CaptureQuestion } from '../../../workflows/domain/capture/query.js';
import { CaptureClient } from './client.js';
import type { ClientLimits } from './client.js';
import type { CaptureDeps } from '../deps.js';
import { readDictionary } from './dictionary.js';
import type { Need } from './dictionary.js';
import { CaptureFailure } from './failure.js';

export interface CaptureConnection {
  config: DatacaptureConfigRow;
  client: CaptureClient;
}

/**
 * Opens a study's capture system. @throws CaptureFailure `configuration` when there is none or its token cannot be
 * decrypted
 */
export async function openConnection(
  deps: CaptureDeps,
  studyId: string,
  limits: ClientLimits = {},
): Promise<CaptureConnection> {
  const config = await readInScope(deps.database, studyId, (tx) => findConfig(tx, studyId));
  if (!config) throw new CaptureFailure('configuration', 'The study has no capture-system configuration.');
  return { config, client: await clientOf(deps, config, limits) };
}

/**
 * The client of a configuration; a token that no longer decrypts is stored as its fault, so that its status shows it.
 */
export async function clientOf(
  deps: CaptureDeps,
  config: DatacaptureConfigRow,
  limits: ClientLimits = {},
): Promise<CaptureClient> {
  try {
    const token = boxOf(deps).open(config.api_token_encrypted, tokenPlace(config.study_id));
    return clientAt(deps, config.api_url, token, limits);
  } catch (fault) {
    if (!(fault instanceof SecretUnreadable)) throw fault;
    await withStudyScope(deps.database, config.study_id, ({ tx }) =>
      noteConnection(tx, config.study_id, fault.message),
    );
    throw new CaptureFailure('configuration', fault.message, { cause: fault, forbidden: true });
  }
}

/**
 * The client of an unsaved connection. A token sealed for another address does not decrypt; the stored token is only
 * sent to its own server.
 * @throws CaptureFailure `configuration` if no token can be sent there
 */
export async function openTrial(
  deps: CaptureDeps,
  { study_id, api_url, sealed_token }: Extract<CaptureQuestion, { kind: 'try-connection' }>,
  limits: ClientLimits = {},
): Promise<CaptureClient> {
  if (sealed_token === undefined) {
    const config = await readInScope(deps.database, study_id, (tx) => findConfig(tx, study_id));
    if (!config || new URL(config.api_url).origin !== new URL(api_url).origin)
      throw new CaptureFailure('configuration', 'There is no token for this address.');
    return clientOf(deps, { ...config, api_url }, limits);
  }
  try {
    return clientAt(deps, api_url, boxOf(deps).open(sealed_token, trialPlace(study_id, api_url)), limits);
  } catch (fault) {
    if (!(fault instanceof SecretUnreadable)) throw fault;
    throw new CaptureFailure('configuration', fault.message, { cause: fault, forbidden: true });
  }
}

function boxOf({ settings: { DATACAPTURE_ENCRYPTION_KEY: key } }: CaptureDeps): SecretBox {
  return new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key));
}

const clientAt = ({ settings }: CaptureDeps, apiUrl: string, token: string, limits: ClientLimits): CaptureClient =>
  new CaptureClient(
    { apiUrl, token, allowPrivate: settings.ALLOW_PRIVATE_URLS ?? !settings.production },
    { timeoutMs: settings.DATACAPTURE_TIMEOUT_SECONDS * 1000, ...limits },
  );

/** The capture system's default name of the record id field. */
export const USUAL_KEY = 'record_id';

/**
 * The first field of the dictionary; the default if the capture system refuses the call. @throws CaptureFailure when it
 * does not answer at all
 */
export async function primaryKeyOf(client: CaptureClient): Promise<string> {
  try {
    const name = (await readDictionary(client, { forms: [] })).rows[0]?.['field_name'];
    return typeof name === 'string' && name.trim() !== '' ? name.trim() : USUAL_KEY;
  } catch (failure) {
    if (failure instanceof CaptureFailure && failure.errorType === 'rejected') return USUAL_KEY;
    throw failure;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

/** The required fields of the dictionary, in its order, each with its form, type and action tags. */
export async function dictionaryRows(
  client: CaptureClient,
  need: Need,
): Promise<{ field_name: string; form_name: string; field_type: string; annotation: string }[]> {
  return (await readDictionary(client, need)).rows.map((row) => ({
    field_name: textOf(row['field_name']),
    form_name: textOf(row['form_name']),
    field_type: textOf(row['field_type']),
    annotation: textOf(row['field_annotation']),
  }));
}

const CACHE_TTL_MS = 10 * 60_000;
/** The facts of a project that matter for reading and writing records. */
export interface ProjectFacts {
  missing: ReadonlySet<string>;
  /** It has no events. */
  classic: boolean;
}
const projects = new Map<string, { facts: ProjectFacts; until: number }>();

/** How long an unreadable project is not queried again. */
const SOON_MS = 30_000;

/**
 * The project's missing-data codes and whether it has events, cached for ten minutes. If the project cannot be read (by
 * the token, or not at all), the last known facts apply, or a project with events and without codes: records are read
 * nevertheless. @throws CaptureFailure when it asks to be called later
 */
export async function projectFacts(deps: CaptureDeps, { config, client }: CaptureConnection): Promise<ProjectFacts> {
  // Another URL or token may belong to another project.
  const key = `${config.api_url}\0${config.api_token_encrypted}`;
  const known = projects.get(key);
  if (known && known.until > performance.now()) return known.facts;
  let facts: ProjectFacts = known?.facts ?? { missing: new Set(), classic: false };
  let fresh = CACHE_TTL_MS;
  try {
    const project = await client.project();
    facts = {
      missing: missingDataCodes(project['missing_data_codes']),
      classic: ['0', 'false'].includes(String(project['is_longitudinal'])),
    };
  } catch (failure) {
    if (!(failure instanceof CaptureFailure) || failure.limitedMs !== undefined) throw failure;
    if (failure.errorType !== 'rejected') fresh = SOON_MS;
    deps.log.warn({ study_id: config.study_id, reason: failure.message }, 'the project cannot be read');
  }
  if (projects.size >= 1_000) projects.clear();
  projects.set(key, { facts, until: performance.now() + fresh });
  return facts;
}
