import { randomUUID } from 'node:crypto';
import { nowMs } from '../../db/clock.js';
import { hashOf } from '../../db/hashing.js';
import type { Tx } from '../../db/knex.js';
import { sessionsByLocalId, sessionsOfResponses, syncBatteries, syncParticipants, syncVisits } from '../../db/queries/offline.js';
import type { ParticipantRef, SyncParticipantRow } from '../../db/queries/offline.js';
import { taskHashes } from '../../db/queries/submissions.js';
import type { KnownModules } from '../../workflows/domain/assessment/submission.js';
import { contentOf, decideResponse, decideSession, sessionKey } from '../../workflows/domain/assessment/sync.js';
import type { KnownTask, OfflineSession, SyncDecision, SyncState } from '../../workflows/domain/assessment/sync.js';
import { dateAt } from '../../workflows/domain/dates.js';
import type { SessionCaller } from './sessions-caller.js';
import { contentFaults } from './sessions-content.js';
import { modulesOf } from './sessions-submit.js';
import type { Item, ResponseGiven, SessionGiven } from './sync-items.js';

/** What may be compared with an id in the database. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export interface SessionFacts { id: string; study_id: string; participant_id: string; battery_id: number | null; battery_version: number | null }
export interface Decided { item: Item; decision: SyncDecision; offline?: OfflineSession; session?: SessionFacts; modules?: KnownModules | null }

/** Of a set of items: what became of its sessions, and its responses, to be decided in their order. */
export interface Deciding { sessions: Decided[]; responses: readonly ResponseItem[]; decide: (item: ResponseItem) => Decided }
type ResponseItem = Item & { kind: 'response' };

/**
 * What becomes of these items, in sets: a few statements whatever their number. Sessions are decided first, so that
 * items may refer to each other in any order; whatever responses are decided from is read, and locked, with them.
 * @param lock false: only asked, nothing is to be written
 */
export async function decideItems(tx: Tx, items: readonly Item[], caller: SessionCaller, lock: boolean): Promise<Deciding> {
  const now = nowMs();
  const sessions = await decideSessions(tx, items.filter((item) => item.kind === 'session'), caller, now, lock);
  const responses = items.filter((item) => item.kind === 'response');
  return { sessions, responses, decide: await responsesOf(tx, responses, sessions, caller, now, lock) };
}

async function decideSessions(tx: Tx, items: readonly (Item & { kind: 'session' })[], caller: SessionCaller, now: number, lock: boolean): Promise<Decided[]> {
  if (items.length === 0) return [];
  const refs: ParticipantRef[] = items.map(({ given }) => ({ study_id: given.studyId.toLowerCase(), ref: given.participantId, as_id: UUID.test(given.participantId) ? given.participantId : null }));
  const people = (await syncParticipants(tx, refs, lock)).filter((person) => caller.participantId === null || person.id === caller.participantId);
  const offline = new Map<Item, OfflineSession>();
  for (const item of items) {
    const person = personOf(people, item.given);
    if (person) offline.set(item, offlineSession(item.given, person));
  }
  const state = await readState(tx, [...offline.values()], people, lock);
  return items.map((item) => {
    const session = offline.get(item);
    if (!session) return { item, decision: { status: 'rejected', code: 'UNKNOWN_PARTICIPANT', message: 'the study has no such participant' } };
    const decision = decideSession(session, state, now, randomUUID);
    if (decision.status === 'rejected') return { item, decision, offline: session };
    const write = 'write' in decision ? decision.write : null;
    return {
      item, decision, offline: session,
      session: { id: decision.server_id, study_id: session.study_id, participant_id: session.participant_id, battery_id: write?.battery_id ?? null, battery_version: write?.battery_version ?? null },
    };
  });
}

const personOf = (people: readonly SyncParticipantRow[], given: SessionGiven): SyncParticipantRow | undefined => {
  const own = people.filter((person) => person.study_id === given.studyId.toLowerCase());
  return own.find((person) => person.id === given.participantId.toLowerCase()) ?? own.find((person) => person.participant_code === given.participantId);
};

function offlineSession(given: SessionGiven, person: SyncParticipantRow): OfflineSession {
  const iso = (instant: string) => new Date(instant).toISOString();
  const base = {
    local_id: given.id, study_id: person.study_id, participant_id: person.id, status: given.status === 'in_progress' ? 'active' as const : given.status,
    started_at: iso(given.startedAt), completed_at: given.completedAt ? iso(given.completedAt) : null, visit_id: given.visitId?.toLowerCase() ?? null,
    battery_id: given.batteryId ?? null, battery_version: given.batteryVersion ?? null, language: given.language ?? null, timezone: given.timezone ?? null, device_id: given.deviceId ?? null,
  };
  const started = Date.parse(base.started_at);
  return {
    ...base, started_ms: started, completed_ms: base.completed_at === null ? null : Date.parse(base.completed_at),
    // Only needed to find the visit where none is named.
    local_date: base.visit_id === null ? dateAt(started, base.timezone ?? person.zone) : '',
    content_hash: hashOf(contentOf(base)), start_hash: hashOf({ ...contentOf(base), status: null, completedAt: null }),
  };
}

async function readState(tx: Tx, sessions: readonly OfflineSession[], people: readonly SyncParticipantRow[], lock: boolean): Promise<SyncState> {
  const known = await sessionsByLocalId(tx, sessions.map(({ study_id, local_id }) => ({ study_id, local_id })));
  const rows = await syncVisits(tx, people.map(({ id }) => id), lock);
  const visits: SyncState['visits'] = new Map();
  for (const row of rows) visits.set(row.participant_id, [...(visits.get(row.participant_id) ?? []), { ...row }]);
  const batteryIds = [...sessions.flatMap((s) => s.battery_id ?? []), ...rows.flatMap((row) => row.battery_id ?? [])];
  const batteries = await syncBatteries(tx, [...new Set(batteryIds)]);
  return {
    participants: new Map(people.map((person) => [person.id, person])), visits, batteries: new Map(batteries.map((battery) => [battery.id, battery])),
    sessions: new Map(known.map((row) => [sessionKey(row.study_id, row.local_id), {
      id: row.id, participant_id: row.participant_id, status: row.status, content_hash: row.content_hash, start_hash: row.start_hash,
      content: contentOf(row as unknown as OfflineSession),
    }])),
  };
}

async function responsesOf(tx: Tx, items: readonly ResponseItem[], sessions: readonly Decided[], caller: SessionCaller, now: number, lock: boolean): Promise<Deciding['decide']> {
  const names = [...new Set(items.map(({ given }) => given.sessionId))];
  const stored = names.length === 0 ? [] : (await sessionsOfResponses(tx, names.filter((name) => UUID.test(name)), names, lock)).filter((row) => caller.participantId === null || row.participant_id === caller.participantId);
  const ofThisCall = new Map(sessions.flatMap(({ session, offline }) => (session && offline ? [[session.id, { ...session, local_id: offline.local_id }] as const] : [])).reverse());
  // Sessions of the same call come first, also those that were there before; the row knows their battery then.
  const all: Candidate[] = stored.map((row) => (ofThisCall.has(row.id) ? { ...row, created_at: undefined } : row));
  const storedIds = new Set(stored.map(({ id }) => id));
  for (const [id, session] of ofThisCall) if (!storedIds.has(id)) all.push(session);
  const named: Named = { byId: new Map(all.map((session) => [session.id, session])), byLocalId: new Map() };
  for (const session of all) {
    const others = named.byLocalId.get(session.local_id);
    if (others) others.push(session);
    else named.byLocalId.set(session.local_id, [session]);
  }
  const tasks = new Map<string, Map<string, KnownTask>>();
  for (const row of stored.length === 0 ? [] : await taskHashes(tx, stored.map(({ id }) => id))) {
    if (!tasks.has(row.session_id)) tasks.set(row.session_id, new Map());
    tasks.get(row.session_id)!.set(row.task, row);
  }
  const modules = new Map<string, KnownModules | null>();
  const batteryOf = ({ battery_id, battery_version }: SessionFacts) => `${battery_id} ${battery_version}`;
  for (const session of items.length === 0 ? [] : all) if (!modules.has(batteryOf(session))) modules.set(batteryOf(session), await modulesOf(tx, session));
  return (item) => {
    const session = sessionNamed(named, item.given, caller, tasks);
    if (!session) return { item, decision: { status: 'rejected', code: 'UNKNOWN_SESSION', message: 'the session is not known: send it before its responses, or with them' } };
    const known = modules.get(batteryOf(session))!;
    const [fault] = contentFaults([item.given.content], known, now, () => 'trials');
    if (!tasks.has(session.id)) tasks.set(session.id, new Map());
    const decision: SyncDecision = fault
      ? { status: 'rejected', code: fault.code, message: fault.message }
      : decideResponse({ local_id: item.given.id, task: item.given.task, content_hash: item.given.content.hash }, session.id, tasks.get(session.id)!);
    return { item, decision, session, modules: known };
  };
}

type Candidate = SessionFacts & { local_id: string | null; started_by_id?: string | null; created_at?: string };
interface Named { byId: ReadonlyMap<string, Candidate>; byLocalId: Map<string | null, Candidate[]> }

/**
 * The session that a response is of: by server id, else by local id. A local id is unique in its study alone; where
 * several studies of the caller know it, it is the one that has this very response, else the newest that the caller
 * synced: a device sends a response after its session.
 */
function sessionNamed({ byId, byLocalId }: Named, given: ResponseGiven, caller: SessionCaller, tasks: ReadonlyMap<string, ReadonlyMap<string, KnownTask>>): SessionFacts | undefined {
  const itself = byId.get(given.sessionId.toLowerCase());
  if (itself) return itself;
  const byLocal = byLocalId.get(given.sessionId) ?? [];
  if (byLocal.length < 2) return byLocal[0];
  // Of the same call: no other is newer.
  const ofThisCall = byLocal.find((session) => session.created_at === undefined);
  if (ofThisCall) return ofThisCall;
  const known = byLocal.find(({ id }) => tasks.get(id)?.get(given.task)?.local_id === given.id && tasks.get(id)?.get(given.task)?.content_hash === given.content.hash);
  if (known) return known;
  const own = byLocal.filter((session) => session.started_by_id === caller.userId).sort((a, b) => (a.created_at! < b.created_at! ? 1 : -1));
  return own[0];
}
