import { randomUUID } from 'node:crypto';
import { nowMs } from '../../../db/client/clock.js';
import { hashOf } from '../../../db/audit/hashing.js';
import {
  sessionsByLocalId,
  sessionsByServerId,
  sessionsKeptBeside,
  syncBatteries,
  syncParticipants,
  syncVisits,
} from '../../../db/assessment/offline.queries.js';
import type { LocalSessionRow, SyncParticipantRow } from '../../../db/assessment/offline.queries.js';
import { beganBefore } from '../../../workflows/domain/assessment/submission.js';
import type { KnownModules } from '../../../workflows/domain/assessment/submission.js';
import {
  NOT_OF_START,
  sessionContent,
  sparserStarts,
  decideSession,
  sessionKey,
} from '../../../workflows/domain/assessment/sync.js';
import { decideResponse, keptWithSession } from '../../../workflows/domain/assessment/sync-responses.js';
import type { KnownSession, OfflineSession, SyncState } from '../../../workflows/domain/assessment/sync.js';
import { datedStart } from '../../../workflows/domain/assessment/times.js';
import { dateAt } from '../../../workflows/domain/util/dates.js';
import type { SessionCaller } from '../sessions/sessions-caller.service.js';
import { contentFaults, ofModule, spelled } from '../sessions/sessions-content.js';
import { modulesOf } from '../sessions/sessions-submit.service.js';
import type { SyncItem, SessionGiven } from './sync-items.js';
import { noteOutcomes } from './sync-claims.js';
import { resolveSessions } from './resolve-sessions.js';
import type { ResponseItem } from './resolve-sessions.js';
import { resolveParticipant, participantRef, timesOf } from './references.js';
import type { SessionFacts } from './references.js';
import type { DecidedItem } from './decided-items.js';
import type { Claim } from './decided-items.js';
import type { Tx } from '../../../db/client/database.js';
import { UUID } from '../../../db/client/uuid.js';

const ERASED = {
  status: 'rejected',
  code: 'PARTICIPANT_ERASED',
  message: 'the participant’s identity was erased: the record stays closed',
} as const;

/** When a call began, in milliseconds since 1970, and by how much the clock of its device is ahead. */
export interface Arrival {
  at: number;
  ahead: number;
}

/** A set of items: the outcomes of its sessions, and its responses in their order. */
export interface ItemDecisionInput {
  sessions: DecidedItem[];
  responses: readonly ResponseItem[];
  decide: (item: ResponseItem) => DecidedItem;
}

/**
 * Decides items in sets, with a few statements for any number. Sessions come first, so that items may refer to each
 * other in any order; the data for deciding responses are read, and locked, with them.
 * @param claims the session items of the whole call
 * @param lock false: a dry run, nothing will be written
 */
export async function decideItems(
  tx: Tx,
  items: readonly SyncItem[],
  claims: readonly Claim[],
  caller: SessionCaller,
  lock: boolean,
  arrival: Arrival,
): Promise<ItemDecisionInput> {
  const now = nowMs();
  const sessions = await decideSessions(
    tx,
    items.filter((item) => item.kind === 'session'),
    caller,
    { now, ahead: arrival.ahead },
    lock,
  );
  noteOutcomes(claims, sessions);
  const responses = items.filter((item) => item.kind === 'response');
  return { sessions, responses, decide: await responsesOf(tx, responses, sessions, claims, caller, lock, arrival) };
}

async function decideSessions(
  tx: Tx,
  items: readonly (SyncItem & { kind: 'session' })[],
  caller: SessionCaller,
  { now, ahead }: { now: number; ahead: number },
  lock: boolean,
): Promise<DecidedItem[]> {
  if (items.length === 0) return [];
  const people = (
    await syncParticipants(
      tx,
      items.map(({ given }) => participantRef(given.studyId, given.participantId)),
      lock,
    )
  ).filter((person) => caller.participantId === null || person.id === caller.participantId);
  const offline = new Map<SyncItem, OfflineSession>();
  for (const item of items) {
    const person = resolveParticipant(people, participantRef(item.given.studyId, item.given.participantId));
    if (person)
      offline.set(item, {
        ...offlineSession(item.given, person, { now, ahead }),
        unknown: item.unknown,
        ahead_ms: ahead,
      });
  }
  noteLater([...offline.values()]);
  const state = await readState(tx, [...offline.values()], people, lock);
  const decided = items.map((item): DecidedItem => {
    const session = offline.get(item);
    if (session && state.participants.get(session.participant_id)?.erased) return { item, decision: ERASED };
    if (!session)
      return {
        item,
        decision: { status: 'rejected', code: 'UNKNOWN_PARTICIPANT', message: 'the study has no such participant' },
      };
    const decision = decideSession(session, state, now, randomUUID);
    if (decision.status === 'rejected') return { item, decision, offline: session };
    const write = 'write' in decision ? decision.write : null;
    return {
      item,
      decision,
      offline: session,
      session: {
        id: decision.server_id!,
        study_id: session.study_id,
        participant_id: session.participant_id,
        battery_id: write?.battery_id ?? null,
        battery_version: write?.battery_version ?? null,
        started_ms: session.started_ms,
      },
    };
  });
  return keptBeside(tx, decided);
}

/** A session may be given up and completed after all in one call: the call repeated has nothing new. */
function noteLater(sessions: readonly OfflineSession[]): void {
  const keyOf = ({ participant_id, local_id }: OfflineSession, hash: string) =>
    JSON.stringify([participant_id, local_id, hash]);
  const last = new Map(sessions.map((session, place) => [keyOf(session, session.content_hash), place]));
  for (const [place, session] of sessions.entries())
    session.comes_later = (hash) => (last.get(keyOf(session, hash)) ?? -1) > place;
}

/** Refused items that were stored beside the server's, after a conflict was resolved for both, are known there. */
async function keptBeside(tx: Tx, decided: readonly DecidedItem[]): Promise<DecidedItem[]> {
  const refused = ({ decision }: DecidedItem) => decision.status === 'conflict' && decision.write === null;
  const beside = await sessionsKeptBeside(
    tx,
    decided.flatMap((one) => (refused(one) && one.offline ? [one.offline] : [])),
  );
  return decided.map((one) => {
    const id = refused(one) && one.offline ? beside.get(one.offline.content_hash) : undefined;
    return id === undefined || !one.session
      ? one
      : { ...one, decision: { status: 'duplicate', server_id: id }, session: { ...one.session, id } };
  });
}

function offlineSession(
  input: SessionGiven,
  person: SyncParticipantRow,
  clock: { now: number; ahead: number },
): OfflineSession {
  const started = Date.parse(input.startedAt);
  const dated = datedStart({ started_ms: started, ahead_ms: clock.ahead }, clock.now);
  const completed = input.completedAt ? Date.parse(input.completedAt) : null;
  const timezone = input.timezone ?? null;
  const visit_id = input.visitId?.toLowerCase() ?? null;
  const session: OfflineSession = {
    local_id: input.id,
    study_id: person.study_id,
    participant_id: person.id,
    status: input.status === 'in_progress' ? ('active' as const) : input.status,
    started_at: new Date(started).toISOString(),
    completed_at: completed === null ? null : new Date(completed).toISOString(),
    started_ms: started,
    completed_ms: completed,
    // Only needed to find the visit if none is named.
    local_date: visit_id === null && dated !== null ? dateAt(dated, timezone ?? person.zone) : '',
    visit_id,
    battery_id: input.batteryId ?? null,
    battery_version: input.batteryVersion ?? null,
    language: input.language ?? null,
    timezone,
    device_id: input.deviceId ?? null,
    content_hash: '',
    start_hash: '',
    former_start_hash: () => hashOf({ ...sessionContent(session), status: null, completedAt: null }),
    sparser_start_hashes: () => sparserStarts({ ...sessionContent(session), ...NOT_OF_START }).map(hashOf),
    unnamed_hash: () => hashOf({ ...sessionContent(session), deviceId: null }),
  };
  const content = sessionContent(session);
  session.content_hash = hashOf(content);
  session.start_hash = hashOf(Object.assign(content, NOT_OF_START));
  return session;
}

async function readState(
  tx: Tx,
  sessions: readonly OfflineSession[],
  people: readonly SyncParticipantRow[],
  lock: boolean,
): Promise<SyncState> {
  const known = await sessionsByLocalId(tx, sessions, lock);
  const own = await sessionsByServerId(
    tx,
    sessions.flatMap(({ local_id }) => (UUID.test(local_id) ? [local_id.toLowerCase()] : [])),
    people.map(({ id }) => id),
    lock,
  );
  const rows = await syncVisits(
    tx,
    people.map(({ id }) => id),
    lock,
  );
  const visits: SyncState['visits'] = new Map();
  for (const row of rows) visits.set(row.participant_id, [...(visits.get(row.participant_id) ?? []), { ...row }]);
  const batteryIds = [...sessions.flatMap((s) => s.battery_id ?? []), ...rows.flatMap((row) => row.battery_id ?? [])];
  const batteries = await syncBatteries(tx, [...new Set(batteryIds)]);
  return {
    participants: new Map(people.map((person) => [person.id, person])),
    visits,
    batteries: new Map(batteries.map((battery) => [battery.id, battery])),
    sessions: knownOf(known),
    serverSessions: new Map(own.map((row) => [row.id, knownSession(row)])),
  };
}

function knownOf(rows: readonly LocalSessionRow[]): SyncState['sessions'] {
  const known: SyncState['sessions'] = new Map();
  for (const row of rows) {
    const key = sessionKey(row.participant_id, row.local_id);
    known.set(key, [...(known.get(key) ?? []), knownSession(row)]);
  }
  return known;
}

const knownSession = (row: LocalSessionRow): KnownSession => ({
  id: row.id,
  participant_id: row.participant_id,
  status: row.status,
  ...timesOf(row),
  visit_id: row.visit_id,
  device_id: row.device_id,
  started_device_id: row.started_device_id,
  content_hash: row.content_hash,
  start_hash: row.start_hash,
  content: sessionContent(row as unknown as OfflineSession),
});

async function responsesOf(
  tx: Tx,
  items: readonly ResponseItem[],
  sessions: readonly DecidedItem[],
  claims: readonly Claim[],
  caller: SessionCaller,
  lock: boolean,
  { at: arrived, ahead }: Arrival,
): Promise<ItemDecisionInput['decide']> {
  const { all, tasks, named } = await resolveSessions(tx, items, sessions, claims, caller, lock);
  const modules = new Map<string, KnownModules | null>();
  const batteryOf = (session: SessionFacts) => `${session.study_id} ${session.battery_id} ${session.battery_version}`;
  const sent = items.map(({ given: { task, moduleId } }) => ({ task, module_id: moduleId }));
  for (const session of items.length === 0 ? [] : all)
    if (!modules.has(batteryOf(session))) modules.set(batteryOf(session), await modulesOf(tx, session, sent));
  return (item) => {
    const session = named(item.given);
    if (session === 'unknown')
      return {
        item,
        decision: {
          status: 'rejected',
          code: 'UNKNOWN_SESSION',
          message: 'the session is not known, or was rejected: send it before its responses, or with them',
        },
      };
    if (session === 'ambiguous')
      return {
        item,
        decision: {
          status: 'rejected',
          code: 'AMBIGUOUS_SESSION',
          message:
            'sessionId may be of several sessions: send the session with it, name its deviceId, or the server ' +
            'id that the answer to the session gave',
        },
      };
    if ('refused' in session) {
      const [fault] = timeFaults(item);
      if (fault) return { item, decision: { status: 'rejected', code: fault.code, message: fault.message } };
      return { item, decision: keptWithSession(), session: session.refused.session!, refused: session.refused };
    }
    if (session.erased) return { item, decision: ERASED };
    const known = modules.get(batteryOf(session))!;
    const { moduleId } = item.given;
    const sent = item.given.content;
    const content = moduleId === null ? spelled(sent, known) : ofModule(sent, moduleId, known);
    const [fault] = 'code' in content ? [content] : contentFaults([content], known, PLACES);
    if (fault || 'code' in content)
      return { item, decision: { status: 'rejected', code: fault!.code, message: fault!.message } };
    if (!tasks.has(session.id)) tasks.set(session.id, new Map());
    const own = tasks.get(session.id)!;
    if (
      typeof session.ended_ms === 'number' &&
      !own.has(content.task) &&
      !beganBefore(session.ended_ms + ahead, { arrived: arrived + ahead, at: content.at })
    )
      return {
        item,
        decision: {
          status: 'rejected',
          code: 'SESSION_ENDED',
          message: 'the session was ended on line: only what began before its end is accepted',
        },
      };
    const { task, hash: content_hash } = content;
    const of_several_devices = isOnSeveral(session, item.given.deviceId);
    const response = { local_id: item.given.id, task, content_hash, of_several_devices };
    const decision = decideResponse(response, session.id, own);
    return { item, decision, session, modules: known, content, local_id: own.get(task)?.local_id ?? null };
  };
}

/** Whether responses of a session may come from another device than this one's. */
const isOnSeveral = ({ device_id, started_device_id }: SessionFacts, deviceId: string | null): boolean =>
  [deviceId, started_device_id].some((other) => other != null && device_id != null && other !== device_id);

const PLACES = { task: () => 'task', trial: () => 'trials' };
/** The tasks of a refused session's battery are unknown. */
const timeFaults = (item: ResponseItem) =>
  contentFaults([item.given.content], null, PLACES).filter(({ code }) => code !== 'UNKNOWN_TASK');
