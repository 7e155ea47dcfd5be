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

/** The breaker of a configuration for display; one without any push is closed. */
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
/** The row behind `breakerOf`, if there is one. */
export const breakerStatement = (studyId: string): Statement => ({
  sql: `select ${SHOWN} from datacapture_breakers where study_id = $1`,
  values: [studyId],
});

export interface BreakerLimits {
  failures: number;
  cooldownSeconds: number;
}
/** A request for a permit and its connection (a hash of address and token). */
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
        'next_attempt_at <= clock_timestamp() as cooled, coalesce(probe_until < clock_timestamp(), false) as ' +
          'probe_lost',
      ),
      tx.raw('coalesce(greatest(next_attempt_at, probe_until), clock_timestamp()) as retry_at'),
    );
  if (row.connection === connection) return row;
  // Another capture system or another token: the state of the former connection no longer applies.
  await change(tx, studyId, { ...CLOSED, connection });
  return { ...row, ...CLOSED, connection, cooled: false, probe_lost: false };
}
const change = (tx: Tx, studyId: string, values: Record<string, unknown>) =>
  tx('datacapture_breakers').where({ study_id: studyId }).update(values);

/**
 * Grants an attempt a permit: always when closed; as the one probe when the cooldown of an open breaker is over or when
 * the probe of a half-open one was lost. The row's lock allows one probe, whatever the number of workers.
 * @returns null: permitted; else when it may be tried again
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

/** The configuration leads to another capture system, or has another token: the former one's outage does not apply. */
export const forgetOutage = (tx: Tx, studyId: string) => change(tx, studyId, { ...CLOSED });

/** Whether the breaker is closed. Locks it: its state stays until the transaction ends. */
export async function isClosed(tx: Tx, passage: BreakerPermit): Promise<boolean> {
  return (await lock(tx, passage)).state === 'closed';
}

/** Records an answer of the capture system. @returns whether the breaker was open and is closed now */
export async function recordSuccess(tx: Tx, passage: BreakerPermit): Promise<boolean> {
  const breaker = await lock(tx, passage);
  // An answer to an attempt from before it opened, while another one probes, is as good as the probe's.
  if (breaker.state !== 'closed' || breaker.consecutive_failures > 0) await change(tx, passage.studyId, { ...CLOSED });
  return breaker.state !== 'closed';
}

/** Records a failure of the capture system. Opens the breaker after so many in a row, or when the probe failed. */
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

/** Releases the probe of an attempt that ended without calling the capture system. */
export async function releaseProbe(tx: Tx, { studyId, attempt }: Omit<BreakerPermit, 'connection'>): Promise<void> {
  await tx('datacapture_breakers')
    .where({ study_id: studyId, state: 'half_open', probe: attempt })
    .update({ state: 'open', probe: null, probe_until: null, next_attempt_at: tx.raw('clock_timestamp()') });
}
