import { raw } from 'objection';
import { lockByName } from '../client/advisory-lock.js';
import type { Tx } from '../client/database.js';
import { PolicyTrialRow } from '../models/jobs.js';

/** A dry run of a policy, as stored. A running one whose process has ended is `failed`. */
export interface StoredPolicyTrial {
  id: string;
  policy_text: string;
  status: 'running' | 'completed' | 'failed';
  seen: number;
  total: number;
  result: object | null;
}
type Whose = { studyId: string; userId: string };

/** The computing process says more often than that that it still computes. */
const ALIVE_UNTIL = () => raw(`clock_timestamp() + interval '1 minute'`);
/** Results are kept for this long. */
const FORGOTTEN_BEFORE = () => raw(`clock_timestamp() - interval '1 hour'`);
const STATUS = `case when status = 'running' and alive_until < clock_timestamp() then 'failed' else status end`;

const own = (tx: Tx, { studyId, userId }: Whose) =>
  PolicyTrialRow.query(tx)
    .where({ study_id: studyId, requested_by_id: userId })
    .where('created_at', '>', FORGOTTEN_BEFORE());

/** A user's running dry run of the same text, or a new one. Concurrent requests of the user run one after another. */
export async function beginTrial(
  tx: Tx,
  whose: Whose,
  { text, total }: { text: string; total: number },
): Promise<{ id: string; isNew: boolean }> {
  await lockByName(tx, `policy trials ${whose.userId}`);
  const [known] = await own(tx, whose)
    .where({ status: 'running', policy_text: text })
    .where('alive_until', '>', raw('clock_timestamp()'))
    .select('id');
  if (known) return { id: known.id, isNew: false };
  const { id } = await PolicyTrialRow.query(tx)
    .insert({
      study_id: whose.studyId,
      requested_by_id: whose.userId,
      policy_text: text,
      total,
      alive_until: ALIVE_UNTIL() as never,
    })
    .returning('id');
  return { id, isNew: true };
}

/** A user's own dry run; undefined: there is none, or no longer. */
export async function trialById(tx: Tx, whose: Whose, id: string): Promise<StoredPolicyTrial | undefined> {
  const [found] = await own(tx, whose)
    .where({ id })
    .select('id', 'policy_text', 'seen', 'total', 'result', raw(STATUS).as('status'))
    .castTo<StoredPolicyTrial[]>();
  return found;
}

/** Stores the progress of a running one, and that its process is alive. */
export async function noteTrial(tx: Tx, id: string, seen: number): Promise<void> {
  await PolicyTrialRow.query(tx)
    .patch({ seen: raw('greatest(seen, ?)', [seen]) as never, alive_until: ALIVE_UNTIL() as never })
    .where({ id, status: 'running' });
}

export async function completeTrial(tx: Tx, id: string, result: object): Promise<void> {
  await PolicyTrialRow.query(tx)
    .patch({ status: 'completed', seen: raw('total') as never, result })
    .where({ id, status: 'running' });
}

export async function failTrial(tx: Tx, id: string): Promise<void> {
  await PolicyTrialRow.query(tx).patch({ status: 'failed' }).where({ id, status: 'running' });
}

/** Removes old ones. */
export async function sweepTrials(tx: Tx): Promise<void> {
  await PolicyTrialRow.query(tx).delete().where('created_at', '<', FORGOTTEN_BEFORE());
}
