import { withStudyScope } from '../../db/client/transaction.js';
import type { Tx } from '../../db/client/database.js';
import { readAsCaller } from '../../db/client/request.js';
import { beginTrial, completeTrial, failTrial, noteTrial, trialById } from '../../db/studies/policy-trials.queries.js';
import type { StoredPolicyTrial } from '../../db/studies/policy-trials.queries.js';
import { serializeError } from '../../db/client/process/serialize-error.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { authorizeUser, staff } from '../http/access.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import type { Credential } from '../http/request-context.js';
import type { Dependencies } from '../dependencies.js';
import { beginDryRun } from './dry-runs-at-once.js';
import { dryRunWithCodes } from './policy-dry-run.service.js';
import type { CodedRun, DryRun } from './policy-dry-run.service.js';

/** The request does not wait for a dry run of more participants than this. */
export const LONG_TRIAL = 2_000;
/** How often the progress is stored. */
const NOTE_MS = 1_000;

/** A running or finished dry run of a policy. It ends with the process that computes it: only its figures are lost. */
export interface PolicyTrial extends Omit<StoredPolicyTrial, 'result'> {
  result?: CodedRun;
}
/** How a result is stored. */
interface Kept {
  run: DryRun;
  codes: [string, string][];
}
export interface TrialRequest {
  services: Dependencies;
  actor: Actor;
  credential: Credential | undefined;
  studyId: string;
}

/**
 * Starts a dry run that continues when its page is left, with the caller's rights. The same one twice is started once.
 * @returns its id @throws 429 QUOTA_EXCEEDED for one who waits for some already
 */
export async function startTrial(
  by: TrialRequest,
  { text, policy, total }: { text: string; policy: Policy; total: number },
): Promise<string> {
  const { services, actor, studyId } = by;
  const begun: { end?: () => void } = {};
  const { id, isNew } = await withStudyScope(services.database, studyId, async ({ tx }) => {
    const trial = await beginTrial(tx, { studyId, userId: actor.id }, { text, total });
    if (trial.isNew) begun.end = beginDryRun(actor);
    return trial;
  }).catch((fault: unknown) => {
    begun.end?.();
    throw fault;
  });
  if (isNew)
    compute(by, id, policy)
      .catch((fault: unknown) => {
        services.log.warn({ err: serializeError(fault) }, 'a dry run of a policy failed');
      })
      .finally(begun.end);
  return id;
}

async function compute(
  { services, actor, credential, studyId }: TrialRequest,
  id: string,
  policy: Policy,
): Promise<void> {
  const { database, log, draining } = services;
  let seen = 0;
  const noting = setInterval(() => {
    withStudyScope(database, studyId, ({ tx }) => noteTrial(tx, id, seen)).catch((fault: unknown) => {
      log.warn({ err: serializeError(fault) }, 'the progress of a dry run was not stored');
    });
  }, NOTE_MS);
  try {
    const { run, codes } = await readAsCaller(
      database,
      { userId: actor.id, login: credential?.sid, studyId },
      (row) => authorizeUser(staff.configure, row, studyId, actor.session_epoch),
      (tx) =>
        dryRunWithCodes(tx, studyId, policy, (n) => {
          if (draining.aborted) throw problem('UNAVAILABLE');
          seen = n;
        }),
    );
    const kept: Kept = { run, codes: [...codes] };
    await withStudyScope(database, studyId, ({ tx }) => completeTrial(tx, id, kept));
  } catch (fault) {
    await withStudyScope(database, studyId, ({ tx }) => failTrial(tx, id));
    throw fault;
  } finally {
    clearInterval(noting);
  }
}

/** The caller's dry run; undefined: it is unknown or was discarded. */
export async function trialOf(
  tx: Tx,
  { actor, studyId }: Pick<TrialRequest, 'actor' | 'studyId'>,
  id: string,
): Promise<PolicyTrial | undefined> {
  const found = await trialById(tx, { studyId, userId: actor.id }, id);
  if (!found) return undefined;
  const { result, ...trial } = found;
  if (result === null) return trial;
  const { run, codes } = result as Kept;
  return { ...trial, result: { run, codes: new Map(codes) } };
}
