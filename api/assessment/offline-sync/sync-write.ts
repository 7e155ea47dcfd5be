import { setImmediate } from 'node:timers/promises';
import { nowMs } from '../../../db/client/clock.js';
import type { AuditEntry, AuditTrail, SealedEntry } from '../../../db/audit/audit.js';
import { hashOf } from '../../../db/audit/hashing.js';
import { putOutbox } from '../../../db/outbox/outbox.js';
import { chunk } from '../../../db/client/sets/chunk.js';
import { advanceSession } from '../../../db/assessment/offline-advances.queries.js';
import { insertConflicts, insertOfflineSessions } from '../../../db/assessment/offline.queries.js';
import type { ConflictKey, NewConflict, OfflineSessionRow } from '../../../db/assessment/offline.queries.js';
import { requestPushes } from '../../../db/capture/push-requests.queries.js';
import { completeVisits } from '../../../db/assessment/sessions-visits.queries.js';
import { insertTaskValues, taskValues } from '../../../db/assessment/submissions.queries.js';
import { insertChunks, trialInserts } from '../../../db/assessment/trials.queries.js';
import { modulesWith } from '../../../workflows/domain/assessment/modules.js';
import { sessionContent } from '../../../workflows/domain/assessment/sync.js';
import { expiryOf } from '../../../workflows/domain/assessment/times.js';
import type { SessionWrite } from '../../../workflows/domain/assessment/sync.js';
import { jsonTexts } from '../../util/json-texts.js';
import { sequentialWrites } from './sequential-writes.js';
import type { SessionCaller } from '../sessions/sessions-caller.service.js';
import type { KeptResponse } from './sync-conflicts-results.js';
import { taskRows } from '../sessions/sessions-content.js';
import type { TaskContent } from '../sessions/sessions-content.js';
import type { ItemDecisionInput } from './sync-decide.js';
import { rejection } from './sync-items.js';
import type { ItemResult, ItemNotice, ResponseGiven } from './sync-items.js';
import type { DecidedItem } from './decided-items.js';
import type { Tx } from '../../../db/client/database.js';
import type { RequestContext } from '../../http/request-context.js';

/** Responses written at a time: each statement costs a millisecond or two, and the last one is waited for. */
const PORTION = 125;
/** Responses, and their trials, turned into rows before yielding; meanwhile the database waits for a statement. */
const AT_A_TIME = { responses: 10, trials: 5_000 };

export interface Writing {
  audit: AuditTrail;
  caller: SessionCaller;
  context: RequestContext;
  minutes: number;
  clockSkewMs: number | null;
}

/**
 * Writes the decided items in sets, and answers each item by its index. Responses go in portions: while the database
 * writes one, the next is read, decided and made into rows, which takes as long.
 */
export async function writeDecided(
  tx: Tx,
  { sessions, responses, decide }: ItemDecisionInput,
  writing: Writing,
): Promise<Map<number, ItemResult>> {
  const writes = sessions.flatMap(({ decision }) => ('write' in decision && decision.write ? [decision.write] : []));
  const decided = [...sessions];
  const results = new Map<number, ItemResult>();
  let records: SealedEntry[] = [];
  let changed: readonly ConflictKey[] = [];
  const recordsOf = () =>
    [...completionRecords(writes, writing), ...syncRecords(decided, changed, writing)].map((entry) =>
      writing.audit.written(entry),
    );
  const now = nowMs();
  await sequentialWrites(async (add) => {
    add(() => writeSessions(tx, writes, writing));
    for (const items of chunk(responses, PORTION)) {
      const rows: ReturnType<typeof taskRows>[] = [];
      let [few, trials] = [0, 0];
      for (const item of items) {
        const one = decide(item);
        decided.push(one);
        const own = responseRows(one, now);
        if (own) rows.push(own);
        few += 1;
        trials += own?.trials.trials.length ?? 0;
        if (few < AT_A_TIME.responses && trials < AT_A_TIME.trials) continue;
        [few, trials] = [0, 0];
        // Yields, to learn that a statement has ended and to serve other callers.
        await setImmediate();
      }
      if (rows.length === 0) continue;
      const tasks = taskValues(rows.map(({ row }) => row));
      add(() => insertTaskValues(tx, tasks));
      for (const chunks of trialInserts(rows.map(({ trials: own }) => own))) {
        add(() => insertChunks(tx, chunks));
        await setImmediate();
      }
    }
    add(() => requestPushes(tx, finished(writes, decided)));
    const conflicts = conflictsOf(decided);
    add(async () => {
      changed = await insertConflicts(tx, await withContentWritten(conflicts));
    });
    // Long records are prepared while the last portion is written, if they do not tell of conflicts.
    if (conflicts.length === 0) records = recordsOf();
    for (const each of decided) results.set(each.item.index, resultOf(each));
  });
  if (records.length === 0) records = recordsOf();
  // Only after success: a set that the database refuses is tried again in halves.
  for (const record of records) writing.audit.add(record);
  return results;
}

function sessionRow(write: SessionWrite, { caller, minutes, clockSkewMs }: Writing): OfflineSessionRow {
  const { session } = write;
  return {
    id: write.id,
    study_id: session.study_id,
    site_id: write.site_id,
    participant_id: session.participant_id,
    visit_id: write.visit_id,
    battery_id: write.battery_id,
    battery_version: write.battery_version,
    language: write.language,
    status: session.status,
    local_id: session.local_id,
    device_id: write.device_id,
    clock_skew_ms: clockSkewMs,
    quality_flags: write.quality_flags,
    content_hash: session.content_hash,
    start_hash: session.start_hash,
    started_by_id: caller.userId,
    started_at: session.started_at,
    expires_at: new Date(expiryOf(session.started_ms, minutes * 60_000, nowMs())).toISOString(),
    completed_at: session.completed_at,
    timezone: session.timezone,
  };
}

async function writeSessions(tx: Tx, writes: readonly SessionWrite[], writing: Writing): Promise<void> {
  await insertOfflineSessions(
    tx,
    writes.filter(({ kind }) => kind === 'insert').map((write) => sessionRow(write, writing)),
  );
  for (const write of writes) {
    if (write.kind === 'advance') {
      const { id, session } = write;
      await advanceSession(tx, {
        id,
        status: session.status,
        completed_at: session.completed_at,
        content_hash: session.content_hash,
        start_hash: session.start_hash,
        visit_id: write.visit_id,
        device_id: write.device_id,
        started_device_id: write.started_device_id,
        clock_skew_ms: writing.clockSkewMs,
        quality_flags: JSON.stringify(write.quality_flags),
        ...(session.timezone !== null && { timezone: session.timezone }),
        ...(session.language !== null && { language: session.language }),
        battery: {
          named: [session.battery_id, session.battery_version],
          found: [write.battery_id, write.battery_version],
        },
      });
    }
  }
  await complete(tx, writes, writing);
}

/** An offline session completes its visit as an online one does. */
async function complete(tx: Tx, writes: readonly SessionWrite[], { caller, context }: Writing): Promise<void> {
  const done = completions(writes);
  await completeVisits(
    tx,
    done.map(({ id, session_id, completed_at }) => ({ id, session_id, completed_at })),
  );
  const baselines = done.filter(({ before }) => before.is_baseline);
  await putOutbox(
    tx,
    baselines.map(({ session }) => ({
      topic: 'sources-changed' as const,
      studyId: session.study_id,
      subject: session.participant_id,
      payload: { actor_user_id: caller.userId, request_id: context.requestId },
    })),
  );
}

const completions = (writes: readonly SessionWrite[]) =>
  writes.flatMap(({ id, session, completes, visit_completed_ms }) =>
    completes
      ? [
          {
            id: completes.id,
            session_id: id,
            completed_at: new Date(visit_completed_ms).toISOString(),
            session,
            before: completes,
          },
        ]
      : [],
  );

/**
 * Sessions that completed a visit or got results: both have something to push, if their visit belongs to the capture
 * system.
 */
function finished(writes: readonly SessionWrite[], decided: readonly DecidedItem[]): string[] {
  const completed = writes.filter(({ completes }) => completes !== null).map(({ id }) => id);
  const answered = decided.flatMap(({ item, decision, session }) =>
    item.kind === 'response' && decision.status === 'created' && session ? [session.id] : [],
  );
  return [...new Set([...completed, ...answered])];
}

function responseRows(
  { item, decision, session, modules, content, local_id = null }: DecidedItem,
  now: number,
): ReturnType<typeof taskRows> | undefined {
  if (item.kind !== 'response' || decision.status !== 'created' || !session) return undefined;
  return taskRows(
    content ?? item.given.content,
    { session_id: session.id, study_id: session.study_id, local_id },
    modules ?? null,
    now,
    session.started_ms,
  );
}

type FoundConflict = Omit<NewConflict, 'local_content'> & { local_content: Content };
type Content = Record<string, unknown> & { responses?: readonly { id: string; sha256: string }[] };

/** Serializes the content of a device, which may be megabytes long, with other requests in between. */
async function withContentWritten(conflicts: readonly FoundConflict[]): Promise<NewConflict[]> {
  const contents = await jsonTexts(conflicts.map((conflict) => conflict.local_content));
  return conflicts.map((conflict, i) => ({ ...conflict, local_content: contents[i]! }));
}

/** Refused items as sent; responses of a refused session are stored with it. */
function conflictsOf(decided: readonly DecidedItem[]): FoundConflict[] {
  const rows = new Map<string, FoundConflict>();
  for (const each of decided)
    for (const row of conflictRows(each)) {
      const key = keyOf(row);
      const before = rows.get(key);
      rows.set(
        key,
        before ? { ...before, local_content: withResponses(before.local_content, row.local_content) } : row,
      );
    }
  return [...rows.values()];
}

const keyOf = (row: ConflictKey): string =>
  JSON.stringify([row.study_id, row.kind, row.conflict_type, row.local_id, row.content_hash]);

function withResponses(before: Content, { responses = [] }: Content): Content {
  const known = before.responses ?? [];
  const more = responses.filter(({ id, sha256 }) => !known.some((one) => one.id === id && one.sha256 === sha256));
  return more.length === 0 ? before : { ...before, responses: [...known, ...more] };
}

function conflictRows({ item, decision, session, offline, refused, content }: DecidedItem): FoundConflict[] {
  if (decision.status !== 'conflict' || !session) return [];
  if (item.kind === 'response' && refused) {
    const response = { ...contentOfResponse(item.given), sha256: item.given.content.hash };
    return conflictRows(refused).map((row) => ({
      ...row,
      local_content: { ...row.local_content, responses: [response] },
    }));
  }
  const response = item.kind === 'response' ? contentOfResponse(item.given, content) : null;
  return decision.conflicts.map((conflict) => ({
    study_id: session.study_id,
    participant_id: session.participant_id,
    kind: item.kind,
    conflict_type: conflict.conflict_type,
    resolution: conflict.resolution,
    local_id: item.given.id,
    session_id: session.id,
    task: response?.task ?? null,
    message: conflict.message,
    local_content: response ? { ...response } : sessionContent(offline!),
    server_content: conflict.server_content,
    content_hash:
      item.kind === 'response' ? hashOf([session.id, item.given.task, item.given.content.hash]) : offline!.content_hash,
  }));
}

/** @param placed under the name of its module, if its session is known */
const contentOfResponse = (
  { id, sessionId, task, moduleId, content }: ResponseGiven,
  placed: TaskContent = content,
): KeptResponse => ({
  id,
  sessionId,
  task: placed.task,
  ...(moduleId !== null && { moduleId }),
  ...(placed.task !== task && { sentTask: task }),
  summary: content.summary,
  trials: content.trials,
});

const completionRecords = (writes: readonly SessionWrite[], { caller, context }: Writing): AuditEntry[] =>
  completions(writes).map(({ id, session_id, completed_at, session, before }) => ({
    user_id: caller.userId,
    request_id: context.requestId,
    study_id: session.study_id,
    action: 'visit_completed',
    resource_type: 'visit',
    resource_id: id,
    metadata: { participant_id: session.participant_id, session_id, completed_at, status_before: before.status },
  }));

/**
 * One audit record for each study and call: accepted items by their hash, so that the chain stays short even if a
 * device syncs a lot. An item that is sent again changes nothing: a conflict that was known is no record either.
 */
function syncRecords(
  decided: readonly DecidedItem[],
  changed: readonly ConflictKey[],
  { caller, context }: Writing,
): AuditEntry[] {
  const fresh = new Set(changed.map(keyOf));
  const isNew = (each: DecidedItem): boolean =>
    each.decision.status === 'created' || conflictRows(each).some((row) => fresh.has(keyOf(row)));
  return [...new Set(decided.flatMap(({ session }) => session?.study_id ?? []))].flatMap((study) => {
    const own = decided.filter((each) => each.session?.study_id === study && isNew(each));
    return own.length === 0
      ? []
      : [
          {
            user_id: caller.userId,
            request_id: context.requestId,
            study_id: study,
            action: 'offline_sync',
            resource_type: 'session',
            resource_id: null,
            metadata: {
              items: own.map(recordedItem),
            },
          },
        ];
  });
}

/** In the order of its canonical form. */
const recordedItem = ({ item, decision, session, offline }: DecidedItem) => ({
  conflict_types: decision.status === 'conflict' ? decision.conflicts.map((c) => c.conflict_type) : undefined,
  kind: item.kind,
  session_id: session!.id,
  sha256: item.kind === 'response' ? item.given.content.hash : offline!.content_hash,
  status: decision.status,
  task: item.kind === 'response' ? item.given.task : undefined,
});

/** Remarks on a response that may belong to several modules. */
const severalModules = ({ item, decision, modules = null }: DecidedItem): ItemNotice[] =>
  item.kind === 'response' &&
  decision.status === 'created' &&
  item.given.moduleId === null &&
  modulesWith(item.given.task, modules) > 1
    ? [
        {
          code: 'TASK_IN_SEVERAL_MODULES',
          message: 'the battery has several modules of this task: moduleId says which one it was',
        },
      ]
    : [];

function resultOf(decided: DecidedItem): ItemResult {
  const { item, decision } = decided;
  if (decision.status === 'rejected') return rejection(item.kind, item.given.id, decision.code, decision.message);
  const result: ItemResult = {
    kind: item.kind,
    local_id: item.given.id,
    server_id: decision.server_id,
    status: decision.status,
  };
  if (decision.status === 'conflict') {
    const [first] = decision.conflicts;
    result.conflict_type = first!.conflict_type;
    result.resolution = first!.resolution;
    result.message = first!.message;
  }
  const write = 'write' in decision ? decision.write : null;
  const warnings = [...(write?.warnings ?? []), ...severalModules(decided)];
  if (warnings.length > 0) result.warnings = warnings;
  if (write && write.quality_flags.length > 0) result.quality_flags = write.quality_flags;
  return result;
}
