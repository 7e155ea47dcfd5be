import { hash } from 'node:crypto';
import { nowIso } from '../../db/client/clock.js';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { chunk } from '../../db/client/sets/chunk.js';
import { currentPolicy } from '../../db/capture/captured-participants.queries.js';
import { findConfig, isExchanging, updateConfig } from '../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import { retryForbidden } from '../../db/capture/push-requests.queries.js';
import { neverRead, recordsToReadAgain } from '../../db/capture/datacapture-records.queries.js';
import * as syncs from '../../db/capture/datacapture-syncs.queries.js';
import { notifySyncFailed } from '../../db/capture/sync-notices.queries.js';
import type { SyncRow } from '../../db/capture/datacapture-syncs.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { policyItems } from '../../workflows/domain/capture/participant.js';
import { recordKey } from '../../workflows/domain/capture/record.js';
import type { DatacapturePollStart, DatacaptureSyncStart } from '../../workflows/contract.js';
import { withRetryLimits } from './retry-limits.js';
import type { CaptureClient } from './client/client.js';
import { openConnection } from './client/connection.js';
import { readingFacts } from './client/project-facts.js';
import type { CaptureDeps } from './deps.js';
import type { TriggerFault } from './triggers/complete-trigger.js';
import { listIds, planExport, rangeBegin } from './client/export.js';
import type { ExportPlan } from './client/export.js';
import { EXCHANGE_OFF, exchangeOff, TriggerRefused } from './client/failure.js';
import { withPresentNames } from './follow-events.js';
import { acquireRateSlot } from './client/rate-limit.js';
import { readNextBatch } from './read-batch.js';
import type { OpenSync } from './read-batch.js';

export interface SyncActivities {
  openPoll(start: DatacapturePollStart): Promise<{ sync_id: string } | null>;
  listRecords(start: DatacaptureSyncStart): Promise<{ total: number; basis: string; plan: ExportPlan }>;
  syncBatch(batch: OpenSync): Promise<{ left: number }>;
  endSync(end: DatacaptureSyncStart & { basis: string }): Promise<void>;
  failSync(start: DatacaptureSyncStart, fault: TriggerFault): Promise<void>;
}

/** Ids of one look-up of missing records. */
const LOOK = 500;

export function createSyncActivities(deps: CaptureDeps): SyncActivities {
  const beating = <T>(start: { study_id: string; sync_id?: string }, work: () => Promise<T>) =>
    withRetryLimits(
      deps,
      { study_id: start.study_id, ...(start.sync_id !== undefined && { sync_id: start.sync_id }) },
      work,
    );
  return {
    openPoll: (start) => beating(start, () => openPoll(deps, start)),
    listRecords: (start) => beating(start, () => listRecords(deps, start)),
    syncBatch: (batch) => beating(batch, () => readNextBatch(deps, batch)),
    endSync: (end) => beating(end, () => endSync(deps, end)),
    failSync: (start, fault) => beating(start, () => failSync(deps, start, fault)),
  };
}

/** The sync of a poll: the interrupted one, or a new one of changes. Null: nothing to poll. */
async function openPoll(deps: CaptureDeps, { study_id }: DatacapturePollStart): Promise<{ sync_id: string } | null> {
  return withStudyScope(deps.database, study_id, async ({ tx }) => {
    const config = await findConfig(tx, study_id);
    const polled = await syncs.polledStudies(tx, study_id);
    if (
      !config ||
      config.enrollment_instrument === null ||
      !polled.has(study_id) ||
      (await syncs.runningSync(tx, study_id, 'sync'))
    )
      return null;
    const { row } = await syncs.openSync(tx, {
      study_id,
      kind: 'poll',
      changed_since: config.polled_at,
      requested_by_id: null,
    });
    return { sync_id: row.id };
  });
}

const sha256 = (value: unknown) => hash('sha256', canonicalJson(value), 'hex');

/** The basis of a sync, beginning with its connection: if it changes meanwhile, the sync is incomplete. */
const basisOf = (c: DatacaptureConfigRow, { policy, closed }: Awaited<ReturnType<typeof currentPolicy>>): string => {
  const read = [
    c.project_id,
    c.enrollment_instrument,
    c.enrollment_event,
    c.participant_field_mapping,
    c.create_missing_sites,
    policyItems(policy, c.enrollment_instrument ?? '').sort(),
    closed,
  ];
  return `${sha256([c.api_url, c.api_token_encrypted])}/${sha256(read)}`;
};
const connectionIn = (basis: string) => basis.split('/', 1)[0];

/** Stores the records to read and the vanished ones; idempotent. */
async function listRecords(
  deps: CaptureDeps,
  { sync_id, study_id }: DatacaptureSyncStart,
): Promise<{ total: number; basis: string; plan: ExportPlan }> {
  const { config: opened, client } = await openConnection(deps, study_id);
  const { sync, study, isOn } = await readInScope(deps.database, study_id, async (tx) => ({
    sync: await syncs.findSync(tx, sync_id),
    study: await currentPolicy(tx, study_id),
    isOn: await isExchanging(tx, study_id),
  }));
  if (!sync || sync.status !== 'running') throw new TriggerRefused('NOT_RUNNING', 'This reading has ended.');
  if (!isOn) throw exchangeOff();
  const turn = () => acquireRateSlot(deps.database, opened.api_url);
  await turn();
  const { classic } = await readingFacts(deps, { config: opened, client }, 'anew');
  const config = classic ? opened : await withPresentNames(deps, { config: opened, client }, turn);
  const plan = await planExport(client, config, study.policy, classic);
  const basis = basisOf(config, study);
  if (sync.listed) return { total: sync.records_total, basis, plan };
  await turn();
  const all = await listIds(client, plan);
  if (sync.changed_since !== null) await turn();
  const read =
    sync.changed_since === null ? all : await changedIds(deps, { study_id, client, plan, all }, sync.changed_since);
  const vanished = await vanishedOf(deps, { study_id, config, client, plan, present: keysOf(all) });
  await withStudyScope(deps.database, study_id, async ({ tx }) => {
    const current = await syncs.findSync(tx, sync_id, 'for no key update');
    if (current && !current.listed) {
      await syncs.storeList(tx, current, {
        read,
        vanished,
        issue: {
          code: 'RECORD_VANISHED',
          message:
            'The capture system has this record no more: it was deleted or renamed, or the token may not see it. Its ' +
            'participant stays as it is.',
        },
      });
    }
  });
  return { total: read.length, basis, plan };
}

/**
 * The records that have changed since a time, those of which something was left to be taken that now may be, and those
 * that were hidden from the token until now.
 */
async function changedIds(
  deps: CaptureDeps,
  { study_id, client, plan, all }: Pick<Presence, 'study_id' | 'client' | 'plan'> & { all: readonly string[] },
  since: string,
): Promise<string[]> {
  const changed = await listIds(client, plan, { dateRangeBegin: rangeBegin(since) });
  const { left, fresh } = await readInScope(deps.database, study_id, async (tx) => ({
    left: await recordsToReadAgain(tx, study_id, since),
    fresh: await neverRead(tx, study_id, all),
  }));
  return [...new Set([...changed, ...all.filter((record) => left.has(record) || fresh.has(record))])];
}

interface Presence {
  study_id: string;
  config: DatacaptureConfigRow;
  client: CaptureClient;
  plan: ExportPlan;
  /** The keys of the listed records. */
  present: ReadonlySet<string>;
}

const keysOf = (records: readonly string[]): Set<string> => new Set(records.map(recordKey));

/**
 * Participants whose record vanished. A record missing in the list is looked up by name, since it may have no row in
 * the enrollment event. One that is there in other case has not vanished: its reading gives the participant the present
 * spelling.
 */
async function vanishedOf(
  deps: CaptureDeps,
  { study_id, config, client, plan, present }: Presence,
): Promise<{ record: string; participant_id: string }[]> {
  const known = await readInScope(deps.database, study_id, (tx) => syncs.readRecords(tx, study_id));
  const absent = known.filter(({ record }) => !present.has(recordKey(record)));
  const gone: typeof absent = [];
  for (const asked of chunk(absent, LOOK)) {
    await acquireRateSlot(deps.database, config.api_url);
    const there = keysOf(await listIds(client, plan, { records: asked.map(({ record }) => record), anyEvent: true }));
    gone.push(...asked.filter(({ record }) => !there.has(recordKey(record))));
  }
  return gone;
}

/** The sync is complete: the next poll begins at its start time. */
async function endSync(
  deps: CaptureDeps,
  { sync_id, study_id, basis }: DatacaptureSyncStart & { basis: string },
): Promise<void> {
  await withStudyScope(deps.database, study_id, async (work) => {
    const sync = await syncs.findSync(work.tx, sync_id, 'for no key update');
    const config = await findConfig(work.tx, study_id, 'for no key update');
    if (!sync || !config) return;
    await syncs.nameRenamed(work.tx, sync);
    if (!(await syncs.closeSync(work.tx, sync_id, { status: 'completed' }))) return;
    // Since a poll of changes began, it turned out that all records are to be read again (noteEvents).
    const isReset = sync.changed_since !== null && config.polled_at === null;
    const present = basisOf(config, await currentPolicy(work.tx, study_id));
    // Another address or token that was saved meanwhile is untested.
    const isConnected = connectionIn(present) === connectionIn(basis);
    await updateConfig(work.tx, study_id, {
      last_sync_at: nowIso(),
      ...(isConnected && { sync_status: 'active', sync_error_message: null }),
      polled_at: present === basis && !isReset ? sync.started_at : null,
    });
    if (isConnected) await retryForbidden(work.tx, study_id, 'read');
    recordEnd(work, sync, 'datacapture_sync_completed', { counts: sync.counts });
  });
}

/** Ends a failed sync; written data stay, and the next sync starts over. */
async function failSync(
  deps: CaptureDeps,
  { sync_id, study_id }: DatacaptureSyncStart,
  fault: TriggerFault,
): Promise<void> {
  await withStudyScope(deps.database, study_id, async (work) => {
    const sync = await syncs.findSync(work.tx, sync_id, 'for no key update');
    if (
      !sync ||
      !(await syncs.closeSync(work.tx, sync_id, { status: 'failed', code: fault.type, message: fault.message }))
    )
      return;
    const isOff = fault.type === EXCHANGE_OFF;
    if (!isOff && (await findConfig(work.tx, study_id)))
      await updateConfig(work.tx, study_id, { sync_status: 'error', sync_error_message: fault.message });
    // One that somebody ended is no news.
    if (!isOff && fault.type !== 'CANCELLED') await notifySyncFailed(work.tx, study_id, sync_id);
    recordEnd(work, sync, 'datacapture_sync_failed', { code: fault.type, counts: sync.counts });
  });
}

const recordEnd = (
  { audit }: WriteTransaction,
  sync: SyncRow,
  action: string,
  metadata: Record<string, unknown>,
): void =>
  audit.record({
    study_id: sync.study_id,
    user_id: sync.requested_by_id,
    action,
    resource_type: 'datacapture_sync',
    resource_id: sync.id,
    metadata: { kind: sync.kind, ...metadata },
  });
