import { localIdHolders, sessionsOfResponses, sessionsWithResponses } from '../../../db/assessment/offline.queries.js';
import type { LocalIdHolders, ResponseSessionRow } from '../../../db/assessment/offline.queries.js';
import { taskHashes } from '../../../db/assessment/submissions.queries.js';
import type { KnownTask } from '../../../workflows/domain/assessment/sync-responses.js';
import type { SessionCaller } from '../sessions/sessions-caller.service.js';
import { claimsByLocalId, isOfAnother, resultOfClaim } from './sync-claims.js';
import type { SyncItem, ResponseGiven } from './sync-items.js';
import { isSingle } from './references.js';
import type { SessionFacts } from './references.js';
import type { DecidedItem } from './decided-items.js';
import type { Claim } from './decided-items.js';
import type { Refused } from './decided-items.js';
import type { Tx } from '../../../db/client/database.js';
import { UUID } from '../../../db/client/uuid.js';

export type ResponseItem = SyncItem & { kind: 'response' };

export type SessionCandidate = SessionFacts &
  Partial<Pick<ResponseSessionRow, 'started_by_id' | 'contested'>> & {
    local_id: string | null;
  };
type Tasks = Map<string, Map<string, KnownTask>>;
/** The session of a response; `ambiguous`: several are possible, and it is written to none. */
export type ResolvedSession = SessionFacts | Refused | 'unknown' | 'ambiguous';

export interface ResolvedSessions {
  all: readonly SessionCandidate[];
  tasks: Tasks;
  named: (given: ResponseGiven) => ResolvedSession;
}

/**
 * Finds the sessions that responses name, by server id, else by local id. A response sent with a session item belongs
 * to that item, whether it was accepted, refused or rejected. A response sent alone belongs to the participant's
 * session with that local id, on the named device. For staff, who act for many participants, it belongs to the session
 * that has this very response, or to the only one that the caller synced in the study of their last sync. A local id
 * never means another person's session: devices number alike.
 */
export async function resolveSessions(
  tx: Tx,
  items: readonly ResponseItem[],
  sessions: readonly DecidedItem[],
  claims: readonly Claim[],
  caller: SessionCaller,
  lock: boolean,
): Promise<ResolvedSessions> {
  if (items.length === 0) return { all: [], tasks: new Map(), named: () => 'unknown' };
  const claimed = claimsByLocalId(claims, new Set(items.map(({ given }) => given.sessionId)));
  const open = items.filter(({ given }) => !claimed.has(given.sessionId));
  const own = caller.participantId;
  const holders = own === null ? await holdersOf(tx, open, caller) : NO_HOLDERS;
  const taken = [...claimed.values()].flatMap((some) => some.flatMap(({ outcome }) => outcome.session?.id ?? []));
  const stored = await sessionsOfResponses(
    tx,
    {
      ids: [
        ...new Set([
          ...items.flatMap(({ given }) => (UUID.test(given.sessionId) ? [given.sessionId.toLowerCase()] : [])),
          ...taken,
          ...holders.ids,
        ]),
      ],
      localIds: own === null ? [] : [...new Set(open.map(({ given }) => given.sessionId))],
      own,
      participants: own === null ? [] : [own],
    },
    lock,
  );
  const byId = new Map<string, SessionCandidate>(stored.map((row) => [row.id, row]));
  for (const decided of sessions) {
    const { session, offline } = decided;
    if (!session || !offline) continue;
    const known = byId.get(session.id) ?? { ...session, local_id: offline.local_id };
    byId.set(session.id, { ...known, ...namedNow(decided, known) });
  }
  const tasks = await tasksOf(
    tx,
    stored.map(({ id }) => id),
  );
  const hasIt =
    (input: ResponseGiven) =>
    ({ id }: SessionFacts): boolean =>
      // By its values: results of a module are under its name.
      [...(tasks.get(id)?.values() ?? [])].some(
        (known) => known.local_id === input.id && known.content_hash === input.content.hash,
      );
  const having = (input: ResponseGiven) =>
    holders.answered
      .flatMap((id) => byId.get(id) ?? [])
      .filter((session) => session.local_id === input.sessionId && hasIt(input)(session))
      .map((session) => ({ ...session, own: session.started_by_id === caller.userId }));
  const named = (input: ResponseGiven): ResolvedSession => {
    const itself = byId.get(input.sessionId.toLowerCase());
    const came = claimed.get(input.sessionId);
    if (came)
      return itself && !came.every((claim) => isOfAnother(claim, itself))
        ? itself
        : resultOfClaim(came, input, (id) => byId.get(id), hasIt(input));
    const local =
      own !== null
        ? ofOwn(stored, input, hasIt(input))
        : ofHolders(
            holders.byLocalId.get(holderKey(input.sessionId, input.deviceId)) ?? [],
            byId,
            input,
            having(input),
          );
    return itself ? oneOfTwo(itself, local, hasIt(input)) : local;
  };
  return { all: [...byId.values()], tasks, named };
}

/** What a session item says of the session's devices and battery, as it is written to the row (`advanceSession`). */
function namedNow({ decision, offline }: DecidedItem, known: SessionCandidate): Partial<SessionCandidate> {
  const write = 'write' in decision ? decision.write : null;
  if (!write) return {};
  const { device_id, started_device_id } = write;
  const battery_id = offline?.battery_id ?? known.battery_id ?? write.battery_id;
  const versionOf = (one: { battery_id: number | null; battery_version: number | null }) =>
    one.battery_id === battery_id ? one.battery_version : null;
  const battery_version = offline?.battery_version ?? versionOf(known) ?? versionOf(write);
  return { device_id, started_device_id, battery_id, battery_version };
}

/** A server id that is a local id, too: the session with it, unless the caller may mean the one under that local id. */
function oneOfTwo(
  itself: SessionCandidate,
  local: ResolvedSession,
  hasIt: (session: SessionFacts) => boolean,
): ResolvedSession {
  if (local === 'unknown' || hasIt(itself)) return itself;
  if (local === 'ambiguous' || 'refused' in local) return 'ambiguous';
  return local.id === itself.id || hasIt(local) ? local : 'ambiguous';
}

/** The participant's session under a local id: that of the named device, or the only one. */
function ofOwn(
  stored: readonly SessionCandidate[],
  input: ResponseGiven,
  hasIt: (session: SessionCandidate) => boolean,
): SessionCandidate | 'unknown' | 'ambiguous' {
  const own = stored.filter(({ local_id }) => local_id === input.sessionId);
  const { deviceId } = input;
  const meant =
    deviceId === null
      ? own
      : own.filter(({ device_id, started_device_id }) => device_id === deviceId || started_device_id === deviceId);
  const [only, another] = meant;
  if (!only) return 'unknown';
  return isSingle(meant.filter(hasIt), input) ?? (another || only.contested ? 'ambiguous' : only);
}

/** Existing sessions of local ids without a session item in this call, and those to be checked. */
interface Holders {
  byLocalId: Map<string, LocalIdHolders[]>;
  ids: string[];
  answered: readonly string[];
}
const NO_HOLDERS: Holders = { byLocalId: new Map(), ids: [], answered: [] };
/** Each device numbers its own sessions. */
const holderKey = (localId: string, deviceId: string | null): string => JSON.stringify([localId, deviceId]);

async function holdersOf(tx: Tx, items: readonly ResponseItem[], caller: SessionCaller): Promise<Holders> {
  if (items.length === 0) return NO_HOLDERS;
  const byLocalId = new Map<string, LocalIdHolders[]>();
  const asked = [
    ...new Map(
      items.map(({ given: { sessionId, deviceId } }) => [
        holderKey(sessionId, deviceId),
        { local_id: sessionId, device_id: deviceId },
      ]),
    ).values(),
  ];
  for (const row of await localIdHolders(tx, asked, caller.userId)) {
    const key = holderKey(row.local_id, row.device_id);
    byLocalId.set(key, [...(byLocalId.get(key) ?? []), row]);
  }
  const doubtful = items.filter(({ given }) => {
    const rows = byLocalId.get(holderKey(given.sessionId, given.deviceId)) ?? [];
    return count(rows) > 1 || rows[0]?.own === 0;
  });
  const answered =
    doubtful.length === 0
      ? []
      : await sessionsWithResponses(
          tx,
          doubtful.map(({ given }) => given.sessionId),
          doubtful.map(({ given }) => ({ id: given.id, hash: given.content.hash })),
        );
  const taken = [...byLocalId.values()].flatMap((rows) => (rows[0]!.own === 1 ? [rows[0]!.own_id!] : []));
  return { byLocalId, ids: [...taken, ...answered], answered };
}

const count = (rows: readonly LocalIdHolders[]): number => rows.reduce((sum, { sessions }) => sum + sessions, 0);

/** @param having those with this very response */
function ofHolders(
  rows: readonly LocalIdHolders[],
  byId: ReadonlyMap<string, SessionCandidate>,
  input: ResponseGiven,
  having: readonly (SessionCandidate & { own: boolean })[],
): SessionCandidate | 'unknown' | 'ambiguous' {
  const [latest] = rows;
  if (!latest) return 'unknown';
  const unless = (session: SessionCandidate | undefined) =>
    session === undefined ? 'unknown' : session.contested ? 'ambiguous' : session;
  const repeated = isSingle(having, input);
  if (repeated) return repeated;
  if (count(rows) === 1 && latest.own === 0) return 'unknown';
  if (latest.own === 1) return unless(byId.get(latest.own_id!));
  const own = having.filter((session) => session.study_id === latest.study_id && session.own);
  return latest.own > 1 && own.length >= latest.own ? own[0]! : 'ambiguous';
}

async function tasksOf(tx: Tx, sessionIds: readonly string[]): Promise<Tasks> {
  const tasks: Tasks = new Map();
  for (const row of sessionIds.length === 0 ? [] : await taskHashes(tx, sessionIds)) {
    const own = tasks.get(row.session_id);
    if (own) own.set(row.task, row);
    else tasks.set(row.session_id, new Map([[row.task, row]]));
  }
  return tasks;
}
