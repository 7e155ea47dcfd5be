import type { DeviceOptions, Planned, Recorded } from './device-client.js';
import type { Store } from './store.js';
import type { ResponseItem, SessionItem } from './wire.js';

/** A session as the device keeps it. */
export interface HeldSession {
  id: string;
  /** What the service knows it by, where it began on line. */
  serverId: string | null;
  startedAt: string;
  end: { status: 'completed' | 'abandoned'; at: string } | null;
  planned: Planned;
}
export interface HeldResult extends Recorded {
  id: string;
  sessionId: string;
}
/** Sessions with all of their results: a response belongs to the session item that it comes with. */
export interface Batch {
  sessions: HeldSession[];
  results: HeldResult[];
}

/** Well under what one call may have: 1,000 items and 20 MiB. */
const MAX_ITEMS = 200;
const MAX_TRIALS = 20_000;

/** Finished sessions that wait, in calls of bearable size; one that goes on waits for its end. */
export async function batchesOf(store: Store): Promise<Batch[]> {
  const batches: Batch[] = [];
  let room = { items: 0, trials: 0 };
  for (const key of await store.keys('session.')) {
    const session = await store.get<HeldSession>(key);
    if (!session?.end) continue;
    const results: HeldResult[] = [];
    for (const name of await store.keys(`result.${session.id}.`)) {
      const result = await store.get<HeldResult>(name);
      if (result) results.push(result);
    }
    const needed = { items: 1 + results.length, trials: results.reduce((sum, { trials }) => sum + trials.length, 0) };
    if (room.items < needed.items || room.trials < needed.trials || batches.length === 0) {
      batches.push({ sessions: [], results: [] });
      room = { items: MAX_ITEMS, trials: MAX_TRIALS };
    }
    room = { items: room.items - needed.items, trials: room.trials - needed.trials };
    batches.at(-1)!.sessions.push(session);
    batches.at(-1)!.results.push(...results);
  }
  return batches;
}

/** The same at every sending: another content under one id is a conflict. */
export const sessionItem = (
  { id, serverId, startedAt, end, planned }: HeldSession,
  { participantId, studyId, deviceId }: DeviceOptions,
): SessionItem => ({
  // The server's id ends the session that began on line; a local id is a session of its own.
  id: serverId ?? id,
  participantId,
  studyId,
  deviceId,
  status: end!.status,
  startedAt,
  completedAt: end!.status === 'completed' ? end!.at : null,
  visitId: planned.visitId ?? null,
  batteryId: planned.batteryId ?? null,
  batteryVersion: null,
  language: planned.language ?? null,
  timezone: planned.timezone ?? null,
});

export const responseItem = (
  { id, sessionId, task, trials, summary, moduleId }: HeldResult,
  sessions: readonly HeldSession[],
  { deviceId }: DeviceOptions,
): ResponseItem => ({
  id,
  sessionId: sessions.find((session) => session.id === sessionId)?.serverId ?? sessionId,
  deviceId,
  task,
  moduleId: moduleId ?? null,
  summary: summary ?? {},
  trials: trials.map(({ task: _, ...trial }) => trial),
});
