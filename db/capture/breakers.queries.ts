import type { Statement } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface BreakerView {
  state: 'closed' | 'open' | 'half_open';
  consecutive_failures: number;
  opened_at: string | null;
  next_attempt_at: string | null;
  last_error: string | null;
}
interface BreakerRow extends BreakerView {
  connection: string;
  probe: string | null;
  cooled: boolean;
  probe_lost: boolean;
  retry_at: string;
}
const CLOSED = {
  state: 'closed',
  consecutive_failures: 0,
  opened_at: null,
  next_attempt_at: null,
  last_error: null,
  probe: null,
  probe_until: null,
} as const;
const SHOWN = 'state, consecutive_failures, opened_at, next_attempt_at, last_error';

/** The breaker of a configuration as it is shown; one that nothing was pushed through yet is closed. */
export async function breakerOf(tx: Tx, studyId: string): Promise<BreakerView> {
  const breaker = (await tx('datacapture_breakers').where({ study_id: studyId }).first(tx.raw(SHOWN))) as
    BreakerView | undefined;
  return breaker ?? UNUSED_BREAKER;
}
export const UNUSED_BREAKER: BreakerView = {
  state: 'closed',
  consecutive_failures: 0,
  opened_at: null,
  next_attempt_at: null,
  last_error: null,
};
/** The row that `breakerOf` shows, if there is one. */
export const breakerStatement = (studyId: string): Statement => ({
  sql: `select ${SHOWN} from datacapture_breakers where study_id = $1`,
  values: [studyId],
});

export interface BreakerLimits {
  failures: number;
  cooldownSeconds: number;
}
/** Who asks to get through, on which connection (a hash of address and token). */
export interface BreakerPermit {
  studyId: string;
  connection: string;
  attempt: string;
}

async function lock(tx: Tx, { studyId, connection }: Omit<BreakerPermit, 'attempt'>): Promise<BreakerRow> {
  await tx('datacapture_breakers').insert({ study_id: studyId, connection }).onConflict().ignore();
  const row = await tx('datacapture_breakers')
    .where({ study_id: studyId })
    .forUpdate()
    .first(
      tx.raw(SHOWN),
      'connection',
      'probe',
      tx.raw(
        'next_attempt_at <= clock_timestamp() as cooled, coalesce(probe_until < clock_timestamp(), false) as probe_lost',
      ),
      tx.raw('coalesce(greatest(next_attempt_at, probe_until), clock_timestamp()) as retry_at'),
    );
  if (row.connection === connection) return row;
  // Another capture system, or another token: what is known of the former one says nothing of it.
  await change(tx, studyId, { ...CLOSED, connection });
  return { ...row, ...CLOSED, connection, cooled: false, probe_lost: false };
}
const change = (tx: Tx, studyId: string, values: Record<string, unknown>) =>
  tx('datacapture_breakers').where({ study_id: studyId }).update(values);

/**
 * Lets an attempt through: freely when closed; as the one probe when an open one has cooled down, or when the probe of
 * a half-open one was lost. The row's lock makes it one, whatever number of workers ask.
 * @returns null: go; else when it may be tried again
 */
export async function acquirePermit(tx: Tx, passage: BreakerPermit, probeSeconds: number): Promise<string | null> {
  const breaker = await lock(tx, passage);
  if (breaker.state === 'closed') return null;
  if (!(breaker.state === 'open' ? breaker.cooled : breaker.probe_lost)) return breaker.retry_at;
  await change(tx, passage.studyId, {
    state: 'half_open',
    probe: passage.attempt,
    probe_until: tx.raw(`clock_timestamp() + ? * interval '1 second'`, [probeSeconds]),
    next_attempt_at: null,
  });
  return null;
}

/** Whether nothing stands in the way any more. Locks the breaker: it stays as it is seen until the transaction ends. */
export async function isClosed(tx: Tx, passage: BreakerPermit): Promise<boolean> {
  return (await lock(tx, passage)).state === 'closed';
}

/** The capture system has answered an attempt. @returns whether the breaker was open and is closed now */
export async function recordSuccess(tx: Tx, passage: BreakerPermit): Promise<boolean> {
  const breaker = await lock(tx, passage);
  // An answer to somebody who went through before it opened, while another one probes, is as good as the probe's.
  if (breaker.state !== 'closed' || breaker.consecutive_failures > 0) await change(tx, passage.studyId, { ...CLOSED });
  return breaker.state !== 'closed';
}

/** The capture system has failed an attempt. Opens after so many in a row, or when it was the probe. */
export async function recordFailure(
  tx: Tx,
  passage: BreakerPermit,
  error: string,
  limits: BreakerLimits,
): Promise<void> {
  const breaker = await lock(tx, passage);
  const consecutive_failures = breaker.consecutive_failures + 1;
  const values = { consecutive_failures, last_error: error };
  const opens =
    breaker.state === 'closed'
      ? consecutive_failures >= limits.failures
      : breaker.state === 'half_open' && breaker.probe === passage.attempt;
  await change(
    tx,
    passage.studyId,
    opens
      ? {
          ...values,
          state: 'open',
          probe: null,
          probe_until: null,
          opened_at: tx.raw('coalesce(opened_at, clock_timestamp())'),
          next_attempt_at: tx.raw(`clock_timestamp() + ? * interval '1 second'`, [limits.cooldownSeconds]),
        }
      : values,
  );
}

/** The probe ended without having asked the capture system: the next one may. */
export async function releaseProbe(tx: Tx, { studyId, attempt }: Omit<BreakerPermit, 'connection'>): Promise<void> {
  await tx('datacapture_breakers')
    .where({ study_id: studyId, state: 'half_open', probe: attempt })
    .update({ state: 'open', probe: null, probe_until: null, next_attempt_at: tx.raw('clock_timestamp()') });
}
