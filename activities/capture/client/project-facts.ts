import { Context } from '@temporalio/activity';
import { missingDataCodes } from '../../../workflows/domain/capture/missing-codes.js';
import type { CaptureDeps } from '../deps.js';
import type { CaptureConnection } from './connection.js';
import { CaptureFailure } from './failure.js';

const CACHE_TTL_MS = 10 * 60_000;
/** The facts of a project that matter for reading and writing records. */
export interface ProjectFacts {
  missing: ReadonlySet<string>;
  /** It has no events. */
  classic: boolean;
  /** Why nothing is known of the project. */
  unread?: CaptureFailure;
}
const projects = new Map<string, { facts: ProjectFacts; until: number }>();

/** How long an unreadable project is not queried again. */
const SOON_MS = 30_000;

/**
 * The project's missing-data codes and whether it has events, cached for ten minutes. If the project cannot be read (by
 * the token, or not at all), the last known facts apply, or a project with events and without codes: records are read
 * nevertheless.
 *
 * @param when `kept`: the cached facts will do; `anew`: the project is asked
 * @throws CaptureFailure when the project asks to be called later
 */
export async function projectFacts(
  deps: CaptureDeps,
  { config, client }: CaptureConnection,
  when: 'kept' | 'anew' = 'kept',
): Promise<ProjectFacts> {
  // Another URL or token may belong to another project.
  const key = `${config.api_url}\0${config.api_token_encrypted}`;
  const known = projects.get(key);
  if (when === 'kept' && known && known.until > performance.now()) return known.facts;
  let facts: ProjectFacts = known?.facts ?? { missing: new Set(), classic: false };
  let fresh = CACHE_TTL_MS;
  try {
    const project = await client.project();
    facts = {
      missing: missingDataCodes(project['missing_data_codes']),
      classic: ['0', 'false'].includes(String(project['is_longitudinal'])),
    };
  } catch (failure) {
    if (!(failure instanceof CaptureFailure) || failure.isPutOff) throw failure;
    if (known === undefined || known.facts.unread) facts = { ...facts, unread: failure };
    if (failure.errorType !== 'rejected') fresh = SOON_MS;
    deps.log.warn({ study_id: config.study_id, reason: failure.inShort }, 'the project cannot be read');
  }
  if (projects.size >= 1_000) projects.clear();
  projects.set(key, { facts, until: performance.now() + fresh });
  return facts;
}

/** Attempts that wait for a project which cannot be read at the moment. */
const WAITING_ATTEMPTS = 2;

/**
 * The facts for reading records, in an activity: without the codes for missing values these would be taken as values.
 * A project of which nothing is known is asked again by each attempt; the first ones wait for its answer, later ones
 * read records nevertheless.
 * @throws CaptureFailure when the project cannot be read at the moment, or asks to be called later
 */
export async function readingFacts(
  deps: CaptureDeps,
  connection: CaptureConnection,
  when: 'kept' | 'anew' = 'kept',
): Promise<ProjectFacts> {
  let facts = await projectFacts(deps, connection, when);
  if (when === 'kept' && facts.unread?.retryable) facts = await projectFacts(deps, connection, 'anew');
  if (facts.unread?.retryable && Context.current().info.attempt <= WAITING_ATTEMPTS) throw facts.unread;
  return facts;
}
