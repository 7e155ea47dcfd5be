import { randomUUID } from 'node:crypto';
import { nowMs } from '../../db/client/clock.js';
import { readAsCaller } from '../../db/client/request.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { authorizeUser, staff } from '../http/access.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import { serializeError } from '../http/middleware/request-logger.js';
import type { Credential } from '../http/request-context.js';
import type { Dependencies } from '../dependencies.js';
import { dryRunWithCodes } from './policy-dry-run.service.js';
import type { CodedRun } from './policy-dry-run.service.js';

/** The request does not wait for a dry run of more participants than this. */
export const LONG_TRIAL = 2_000;
/** How long results are kept, and how many. */
const KEPT_MS = 3_600_000;
const MAX_KEPT = 20;

/** A running or finished dry run of a policy. It lives in this process and ends with it: only its figures are lost. */
export interface PolicyTrial {
  id: string;
  studyId: string;
  userId: string;
  /** The policy as typed. */
  text: string;
  startedMs: number;
  seen: number;
  total: number;
  state: 'running' | 'done' | 'failed';
  result?: CodedRun;
}
export interface TrialRequest {
  services: Dependencies;
  actor: Actor;
  credential: Credential | undefined;
  studyId: string;
}

const trials = new Map<string, PolicyTrial>();

/**
 * Starts a dry run that continues when its page is left, with the caller's rights. The same one twice is started once.
 * @returns its id
 */
export function startTrial(
  { services, actor, credential, studyId }: TrialRequest,
  { text, policy, total }: { text: string; policy: Policy; total: number },
): string {
  forgetOld();
  for (const { id, ...known } of trials.values())
    if (known.state === 'running' && known.userId === actor.id && known.studyId === studyId && known.text === text)
      return id;
  const trial: PolicyTrial = {
    id: randomUUID(),
    studyId,
    userId: actor.id,
    text,
    startedMs: nowMs(),
    seen: 0,
    total,
    state: 'running',
  };
  trials.set(trial.id, trial);
  readAsCaller(
    services.database,
    { userId: actor.id, login: credential?.sid, studyId },
    (row) => authorizeUser(staff.configure, row, studyId, actor.session_epoch),
    (tx) =>
      dryRunWithCodes(tx, studyId, policy, (n) => {
        if (services.draining.aborted) throw problem('UNAVAILABLE');
        trial.seen = n;
      }),
  ).then(
    (result) => Object.assign(trial, { result, state: 'done' }),
    (fault: unknown) => {
      trial.state = 'failed';
      services.log.warn({ err: serializeError(fault) }, 'a dry run of a policy failed');
    },
  );
  return trial.id;
}

/** The caller's dry run; undefined: another process has it, or it was discarded. */
export function trialOf(
  { actor, studyId }: Pick<TrialRequest, 'actor' | 'studyId'>,
  id: string,
): PolicyTrial | undefined {
  const trial = trials.get(id);
  return trial?.studyId === studyId && trial.userId === actor.id ? trial : undefined;
}

function forgetOld(): void {
  const done = [...trials.values()].filter(({ state }) => state !== 'running');
  const old = done.filter(({ startedMs }, index) => nowMs() - startedMs > KEPT_MS || index < done.length - MAX_KEPT);
  for (const { id } of old) trials.delete(id);
}
