import { countedEnd, enteredFor, settingFlags, startsInFuture, timeFlags } from './times.js';
import { visitOf, visitWarnings } from './sync-visits.js';
import type { SyncVisit, VisitWarning } from './sync-visits.js';
import type { DeviceSetting, SessionRemark } from './times.js';

/** Decisions about offline sessions: pure, from the database's state. */
export type OfflineStatus = 'active' | 'completed' | 'expired' | 'abandoned';
export type ConflictType =
  | 'duplicate_session'
  | 'duplicate_response'
  | 'visit_already_completed'
  | 'participant_withdrawn'
  | 'battery_version_mismatch';
export type Resolution = 'server_wins' | 'both_kept';

/** An offline session as sent by a device; its participant is known, instants are ISO 8601 UTC. */
export interface OfflineSession {
  local_id: string;
  study_id: string;
  participant_id: string;
  status: OfflineStatus;
  started_at: string;
  completed_at: string | null;
  /** Start and end in milliseconds since 1970, and the date of the start in the participant's time zone. */
  started_ms: number;
  completed_ms: number | null;
  local_date: string;
  visit_id: string | null;
  battery_id: number | null;
  battery_version: number | null;
  language: string | null;
  timezone: string | null;
  device_id: string | null;
  /** Settings of the device that were left out, since they have no meaning here. */
  unknown?: readonly DeviceSetting[];
  /** By how much the device's clock is ahead. */
  ahead_ms?: number;
  content_hash: string;
  /** Hash of the fields that stay the same during a session: time zone, language and device may change. */
  start_hash: string;
  /** The same hash as written by releases before 0060, with these fields. Few sessions are compared by it. */
  former_start_hash: () => string;
  /** Hashes of this start as an app names it that does not name all of visit, battery and its version. */
  sparser_start_hashes: () => readonly string[];
  /** Of the content as an app sends it that does not name its device. */
  unnamed_hash: () => string;
  /** Whether an item of the same id and this content comes later in the call. */
  comes_later?: (hash: string) => boolean;
}
export interface SyncParticipant {
  id: string;
  study_id: string;
  site_id: string | null;
  zone: string;
  preferred_language: string | null;
  withdrawn_ms: number | null;
  /** When the participant was entered. */
  entered_ms: number;
  erased: boolean;
}
export interface SyncBattery {
  id: number;
  study_id: string;
  current_version: number;
}
export interface KnownSession {
  id: string;
  participant_id: string;
  status: string;
  started_ms: number;
  completed_ms: number | null;
  visit_id: string | null;
  device_id: string | null;
  /** The device on which it began, if it continued on another. */
  started_device_id: string | null;
  content_hash: string | null;
  start_hash: string | null;
  content: Record<string, unknown>;
}

export interface SyncState {
  participants: ReadonlyMap<string, SyncParticipant>;
  /** By participant and local id (`sessionKey`): several devices have several. */
  sessions: Map<string, KnownSession[]>;
  /** Those that items name by server id. */
  serverSessions: Map<string, KnownSession>;
  visits: Map<string, SyncVisit[]>;
  batteries: ReadonlyMap<number, SyncBattery>;
}
export const sessionKey = (participantId: string, localId: string): string => `${participantId} ${localId}`;

export interface SyncConflict {
  conflict_type: ConflictType;
  resolution: Resolution;
  message: string;
  server_content: Record<string, unknown> | null;
}
export type SyncDecision =
  | { status: 'rejected'; code: string; message: string }
  | { status: 'duplicate'; server_id: string }
  | {
      status: 'created' | 'conflict';
      /** Null: for a response that is stored with the conflict of its session. */
      server_id: string | null;
      conflicts: SyncConflict[];
      write: SessionWrite | null;
      /** For a refused session: it has the same start as the server's. */
      same_start?: boolean;
    };

export interface SessionWrite {
  /** `advance`: updates an unfinished session of the server to its end on the device. */
  kind: 'insert' | 'advance';
  id: string;
  session: OfflineSession;
  site_id: string | null;
  visit_id: string | null;
  battery_id: number | null;
  battery_version: number | null;
  language: string | null;
  device_id: string | null;
  started_device_id: string | null;
  /** The visit that this session completes. */
  completes: SyncVisit | null;
  /** The completion time of that visit. */
  visit_completed_ms: number;
  quality_flags: SessionRemark[];
  warnings: VisitWarning[];
}

const rejected = (code: string, message: string): SyncDecision => ({ status: 'rejected', code, message });

/**
 * Decides one offline session and adds the result to `state`, so that the next one of the same bulk sees it.
 * @param now milliseconds since 1970; `newId` creates the id of a new session
 */
export function decideSession(input: OfflineSession, state: SyncState, now: number, newId: () => string): SyncDecision {
  const participant = state.participants.get(input.participant_id);
  if (!participant || participant.study_id !== input.study_id)
    return rejected('UNKNOWN_PARTICIPANT', 'the study has no such participant');
  const fault = badTimes(input);
  if (fault) return fault;
  const key = sessionKey(participant.id, input.local_id);
  const others = state.sessions.get(key) ?? [];
  const own = sameSession(input, others);
  const named = own ? undefined : state.serverSessions.get(input.local_id.toLowerCase());
  const server = named?.participant_id === participant.id ? named : undefined;
  const known = own ?? server;
  if (!known && startsInFuture(input, now))
    return rejected('START_IN_FUTURE', 'startedAt lies more than 24 hours ahead: X-Device-Time may explain it');
  if (own && !goesOn(input, own)) return again(input, own);
  if (server && !endsServers(input, server)) return againServers(input, server);
  const session = server
    ? asServers(input, server)
    : own
      ? { ...input, visit_id: input.visit_id ?? own.visit_id }
      : input;

  const visits = state.visits.get(participant.id) ?? [];
  const visit = visitOf(session, visits);
  if (visit === 'unknown') return rejected('UNKNOWN_VISIT', 'the participant has no such visit');
  const batteryId = session.battery_id ?? visit?.battery_id ?? null;
  const battery = batteryId === null ? undefined : state.batteries.get(batteryId);
  if (session.battery_id !== null && battery?.study_id !== session.study_id)
    return rejected('UNKNOWN_BATTERY', 'the study has no such battery');

  const conflicts: SyncConflict[] = [];
  const { ahead_ms: ahead = 0 } = session;
  const withdrawn = participant.withdrawn_ms !== null && session.started_ms - ahead > participant.withdrawn_ms;
  const both = (conflict_type: ConflictType, message: string, server_content: Record<string, unknown> | null = null) =>
    conflicts.push({ conflict_type, resolution: 'both_kept', message, server_content });
  if (withdrawn) both('participant_withdrawn', 'the session started after the participant had withdrawn');
  const done = session.status === 'completed';
  if (done && visit?.status === 'completed')
    both('visit_already_completed', 'the visit was completed by something else', { visit_id: visit.id });
  if (battery && session.battery_version !== null && session.battery_version !== battery.current_version) {
    both(
      'battery_version_mismatch',
      `the session used version ${session.battery_version} of the battery, which is at ${battery.current_version}`,
      { battery_version: battery.current_version },
    );
  }
  const completes =
    done && !withdrawn && visit && ['scheduled', 'open', 'missed'].includes(visit.status) ? { ...visit } : null;
  const warnings = visit === null ? visitWarnings(session, visits) : [];
  if (completes && visit) visit.status = 'completed';
  const id = known?.id ?? newId();
  const { device_id, started_device_id } = devicesOf(session, known);
  const clock = { now, entered: participant.entered_ms };
  const next: KnownSession = {
    id,
    participant_id: participant.id,
    status: session.status,
    started_ms: session.started_ms,
    completed_ms: session.completed_ms,
    visit_id: visit?.id ?? null,
    device_id,
    started_device_id,
    content_hash: session.content_hash,
    start_hash: session.start_hash,
    content: sessionContent(session),
  };
  if (server) state.serverSessions.set(id, next);
  else state.sessions.set(key, [...others.filter((other) => other !== known), next]);
  return {
    status: conflicts.length > 0 ? 'conflict' : 'created',
    server_id: id,
    conflicts,
    write: {
      kind: known ? 'advance' : 'insert',
      id,
      session,
      site_id: participant.site_id,
      visit_id: visit?.id ?? null,
      battery_id: battery?.id ?? null,
      battery_version: session.battery_version ?? battery?.current_version ?? null,
      language: session.language ?? participant.preferred_language,
      device_id,
      started_device_id,
      completes,
      visit_completed_ms: countedEnd(session, { now, entered: enteredFor(participant.entered_ms, completes) }),
      quality_flags: [...timeFlags(session, clock), ...settingFlags(session.unknown)],
      warnings,
    },
  };
}

/** Other times that no clock can have shown are no reason to refuse results: they are flagged. */
function badTimes(session: OfflineSession): SyncDecision | undefined {
  if (session.status === 'completed' && session.completed_at === null)
    return rejected('COMPLETED_AT_REQUIRED', 'completedAt is required for a completed session');
  if (session.status !== 'completed' && session.completed_at !== null)
    return rejected('NOT_COMPLETED', `completedAt is for completed sessions; this one is ${session.status}`);
  return undefined;
}

const startsAlike = (session: OfflineSession, known: KnownSession): boolean =>
  known.start_hash === session.start_hash || known.start_hash === session.former_start_hash();

/** Whether an item is of a known session's start: an app that is updated meanwhile names more of it, nothing else. */
const startedSo = (session: OfflineSession, known: KnownSession): boolean =>
  startsAlike(session, known) ||
  (known.started_ms === session.started_ms && session.sparser_start_hashes().includes(known.start_hash ?? ''));

const NAMED_LATER = ['visitId', 'batteryId', 'batteryVersion'] as const;
/** Whether an item is an earlier state of a known session, of which it may name less. */
function isEarlierState(session: OfflineSession, known: KnownSession): boolean {
  if (session.status !== 'active') return false;
  const content = sessionContent(session);
  return (
    startsAlike(session, known) ||
    (known.started_ms === session.started_ms &&
      NAMED_LATER.every((name) => content[name] === null || content[name] === known.content[name]))
  );
}

/** Whether an item is a state that the session went through in the same call, which is repeated. */
const isPassedState = (session: OfflineSession, known: KnownSession): boolean =>
  session.status !== 'completed' &&
  startsAlike(session, known) &&
  session.comes_later?.(known.content_hash ?? '') === true;

/** Whether an item is there already. An app that has learned to name its device repeats what it sent without one. */
const isRepeated = (session: OfflineSession, known: KnownSession): boolean =>
  known.content_hash === session.content_hash ||
  (known.device_id === null && known.content_hash === session.unnamed_hash());

/** An unfinished session that has ended since, or an abandoned one that was finished after all. */
const goesOn = (session: OfflineSession, known: KnownSession): boolean =>
  startedSo(session, known) &&
  !isRepeated(session, known) &&
  (known.status === 'active'
    ? session.status !== 'active'
    : known.status !== 'completed' && session.status === 'completed');

/**
 * Finds the participant's session that an item with a local id means: devices number alike, so it is the one of its
 * device. If one side names no device, or an unfinished session moved to another device, the start identifies it.
 */
function sameSession(session: OfflineSession, known: readonly KnownSession[]): KnownSession | undefined {
  const of = (device: string | null) => (one: KnownSession) =>
    one.device_id === device || (device !== null && one.started_device_id === device);
  const own = known.find(of(session.device_id));
  if (own) return own;
  const alike = known.filter((one) => startsAlike(session, one));
  return (
    alike.find((one) => session.device_id === null || one.device_id === null) ??
    alike.find((one) => goesOn(session, one))
  );
}

/**
 * Whether an item that names the server's session ends it: also one that expired while the device was offline. An end
 * that was taken before, and set aside since by staff, stays set aside.
 */
const endsServers = (session: OfflineSession, server: KnownSession): boolean =>
  !isRepeated(session, server) &&
  (session.status === 'completed'
    ? server.status !== 'completed'
    : session.status !== 'active' && server.status === 'active');

/** The known fields of the server's session stay: its start, its visit, its identity. */
const asServers = (session: OfflineSession, server: KnownSession): OfflineSession => ({
  ...session,
  started_ms: server.started_ms,
  visit_id: session.visit_id ?? server.visit_id,
  content_hash: server.content_hash ?? session.content_hash,
  start_hash: server.start_hash ?? session.start_hash,
  device_id: server.content_hash === null ? (session.device_id ?? server.device_id) : server.device_id,
});

/** For a session that a device has ended already, only another end counts as other content. */
const againServers = (session: OfflineSession, server: KnownSession): SyncDecision =>
  session.status === 'completed' &&
  server.content_hash !== null &&
  server.content_hash !== session.content_hash &&
  server.completed_ms !== session.completed_ms
    ? again(session, server)
    : { status: 'duplicate', server_id: server.id };

/** The device that a session is on now, and the one on which it began. */
const devicesOf = (session: OfflineSession, known: KnownSession | undefined) => ({
  device_id: session.device_id ?? known?.device_id ?? null,
  started_device_id:
    known?.started_device_id ??
    (session.device_id !== null && known && known.device_id !== session.device_id ? known.device_id : null),
});

/** The same id again: the same content, an earlier state of it, or other content. */
function again(session: OfflineSession, known: KnownSession): SyncDecision {
  if (isRepeated(session, known)) return { status: 'duplicate', server_id: known.id };
  const same_start = startsAlike(session, known);
  if (isEarlierState(session, known) || isPassedState(session, known))
    return { status: 'duplicate', server_id: known.id };
  return {
    status: 'conflict',
    server_id: known.id,
    write: null,
    same_start,
    conflicts: [
      {
        conflict_type: 'duplicate_session',
        resolution: 'server_wins',
        message: 'a session with this id is there with other content',
        server_content: known.content,
      },
    ],
  };
}

/** Fields that may change during a session. */
export const NOT_OF_START = {
  status: null,
  completedAt: null,
  language: null,
  timezone: null,
  deviceId: null,
} as const;

/** The start of a session as apps may have named it before: without its visit, its battery or the battery's version. */
export function sparserStarts(start: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  let starts: Record<string, unknown>[] = [{ ...start }];
  for (const name of NAMED_LATER)
    if (start[name] !== null) starts = starts.flatMap((one) => [one, { ...one, [name]: null }]);
  return starts.slice(1);
}

/**
 * A session's content from a device; `syncStatus` and `syncAttempts` are not content. In the order of its canonical
 * form: it is hashed twice.
 */
export const sessionContent = (
  session: Omit<
    OfflineSession,
    | 'unknown'
    | 'comes_later'
    | 'content_hash'
    | 'start_hash'
    | 'former_start_hash'
    | 'sparser_start_hashes'
    | 'unnamed_hash'
    | 'started_ms'
    | 'completed_ms'
    | 'local_date'
  >,
): Record<string, unknown> => ({
  batteryId: session.battery_id,
  batteryVersion: session.battery_version,
  completedAt: session.completed_at,
  deviceId: session.device_id,
  id: session.local_id,
  language: session.language,
  participantId: session.participant_id,
  startedAt: session.started_at,
  status: session.status,
  studyId: session.study_id,
  timezone: session.timezone,
  visitId: session.visit_id,
});
