import { Context } from '@temporalio/activity';
import { claimRecords, releaseRecords } from '../../db/capture/datacapture-records.queries.js';
import { isExchanging } from '../../db/capture/datacapture-configs.queries.js';
import { openRecords } from '../../db/capture/datacapture-syncs.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import type { DatacaptureSyncStart } from '../../workflows/contract.js';
import { pipelined } from '../util/pipelined.js';
import { batchSizeOf } from './batch-size.js';
import { openConnection } from './client/connection.js';
import type { CaptureConnection } from './client/connection.js';
import { readingFacts } from './client/project-facts.js';
import type { CaptureDeps } from './deps.js';
import { exportBatch } from './client/export.js';
import type { ExportPlan } from './client/export.js';
import { exchangeOff, recordBusy } from './client/failure.js';
import { acquireRateSlot } from './client/rate-limit.js';
import { writeBatch } from './write-batch.js';

/** A running sync or poll, with the fields that it requests. */
export type OpenSync = DatacaptureSyncStart & { plan: ExportPlan };

/** Records of one attempt: each attempt is a workflow step, which takes as long as an unchanged batch. */
const RECORDS = 5_000;
/** No further batch begins after this time, so that the workflow shows the sync's progress, too. */
const ATTEMPT_MS = 8_000;
/** Longer than a batch may take. */
const leaseSeconds = ({ settings }: CaptureDeps) => 2 * settings.DATACAPTURE_TIMEOUT_SECONDS + 90;
/** The time between two batches, with a margin: low-priority work waits for a sync that long. */
const BETWEEN_MS = 2_000;

/**
 * Reads the next records and writes their data, in one transaction for each batch; a retried attempt continues after
 * the last batch. While one batch is written the next is fetched and decided, so that capture system and database do
 * not wait for each other. @returns how many records are still to be read
 */
export async function readNextBatch(deps: CaptureDeps, reading: OpenSync): Promise<{ left: number }> {
  const { sync_id, study_id } = reading;
  const connected = await openConnection(deps, study_id);
  const { open, isOn } = await readInScope(deps.database, study_id, async (tx) => ({
    open: await openRecords(tx, sync_id, RECORDS),
    isOn: await isExchanging(tx, study_id),
  }));
  if (open.left === 0) return { left: 0 };
  if (!isOn) throw exchangeOff();
  const enough = performance.now() + ATTEMPT_MS;
  // Cancelled by a user, or because this worker is stopping.
  const {
    info: { attempt },
    cancellationSignal,
  } = Context.current();
  const goesOn = () => performance.now() < enough && !cancellationSignal.aborted;
  const size = batchSizeOf(sync_id);
  const read = (records: readonly string[]) =>
    size.reading(records.length, () => readBatch(deps, connected, { ...reading, vanished: open.vanished }, records));
  // Two concurrent writes may conflict at a site or a code that both create; refused batches are repeated one by one.
  const done = await pipelined(
    size.batchesOf(open.records),
    async (records) => (goesOn() ? read(records) : undefined),
    attempt === 1 ? 2 : 1,
  );
  size.grow();
  const left = done.filter((each) => each !== undefined);
  // Triggers hold all of them: their readings are as recent as ours.
  if (left.length === 0 && !cancellationSignal.aborted) throw recordBusy(1_000);
  return { left: Math.min(open.left, ...left) };
}

/**
 * One batch: fetched when the rate limit allows, written in one transaction.
 * @returns how many records are still to be read; undefined if triggers hold all of this batch
 */
async function readBatch(
  deps: CaptureDeps,
  { config, client }: CaptureConnection,
  { sync_id, study_id, plan, vanished }: OpenSync & { vanished: boolean },
  batch: readonly string[],
): Promise<number | undefined> {
  deps.traffic.note(BETWEEN_MS);
  // Before records are claimed: their triggers do not wait for it.
  await acquireRateSlot(deps.database, config.api_url);
  const claims = await withStudyScope(deps.database, study_id, ({ tx }) =>
    claimRecords(tx, study_id, batch, sync_id, leaseSeconds(deps)),
  );
  if (claims.size === 0) return undefined;
  const records = [...claims.keys()];
  try {
    const { missing } = await readingFacts(deps, { config, client });
    const rows = await exportBatch(client, plan, records);
    const { left } = await withStudyScope(deps.database, study_id, (work) =>
      writeBatch(work, { sync_id, vanished, config, plan, missing, rows, claims }),
    );
    return left;
  } catch (failure) {
    await withStudyScope(deps.database, study_id, ({ tx }) => releaseRecords(tx, study_id, records, sync_id));
    throw failure;
  }
}
