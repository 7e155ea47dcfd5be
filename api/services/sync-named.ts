import type { Tx } from '../../db/knex.js';
import {
  localIdHolders,
  sessionsOfResponses,
  sessionsWithResponses,
  syncParticipants,
} from '../../db/queries/offline.js';
import type { LocalIdHolders, ParticipantRef, SyncParticipantRow } from '../../db/queries/offline.js';
import { taskHashes } from '../../db/queries/submissions.js';
import type { KnownTask } from '../../workflows/domain/assessment/sync.js';
import type { SessionCaller } from './sessions-caller.js';
import type { Decided } from './sync-decide.js';
import type { Item, ResponseGiven } from './sync-items.js';

/** What may be compared with an id in the database. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Text that may be compared with what the database has. */
const STORABLE = /^[^\0\p{Surrogate}]+$/u;

export interface SessionFacts {
  id: string;
  study_id: string;
  participant_id: string;
  battery_id: number | null;
  battery_version: number | null;
}
export type ResponseItem = Item & { kind: 'response' };

/** A participant by id or code. */
export const refOf = (studyId: string, ref: string): ParticipantRef => ({
  study_id: studyId.toLowerCase(),
  ref,
  as_id: UUID.test(ref) ? ref.toLowerCase() : null,
});

/** Whom a reference names, of those that were found: by id before by code. */
export const personOf = (
  people: readonly SyncParticipantRow[],
  { study_id, ref, as_id }: ParticipantRef,
): SyncParticipantRow | undefined => {
  const own = people.filter((person) => person.study_id === study_id);
  return own.find((person) => person.id === as_id) ?? own.find((person) => person.participant_code === ref);
};

/**
 * A session that the call has, as far as it can be read: its local id, in which study, and whose it says that it is.
 */
export interface Claim {
  local_id: string;
  study_id: string | null;
  ref: ParticipantRef | null;
  /** It names nobody at all. */ nobody: boolean;
}

/** What session items say of themselves, also those that do not fit their schema. */
export function claimOf(raw: unknown): Claim | undefined {
  const { id, studyId, participantId } = (raw ?? {}) as { id?: unknown; studyId?: unknown; participantId?: unknown };
  if (typeof id !== 'string' || !STORABLE.test(id)) return undefined;
  const study = typeof studyId === 'string' && UUID.test(studyId) ? studyId.toLowerCase() : null;
  const person =
    study !== null && typeof participantId === 'string' && STORABLE.test(participantId)
      ? refOf(study, participantId)
      : null;
  return { local_id: id, study_id: study, ref: person, nobody: participantId === undefined || participantId === null };
}

type Candidate = SessionFacts & { local_id: string | null; started_by_id?: string | null };
type Tasks = Map<string, Map<string, KnownTask>>;

/** Which session a response is of; `ambiguous`: it may be of several, and is written to none of them. */
export interface NamedSessions {
  all: readonly Candidate[];
  tasks: Tasks;
  named: (given: ResponseGiven) => SessionFacts | 'unknown' | 'ambiguous';
}

/**
 * The sessions that responses name, by server id, else by local id. A local id is unique for its participant alone: a
 * participant's response is of its own session. Of staff, who act for many, it is of the session that the same call has
 * under that id, whether it was taken or not; else of the only one there is, of the one that has this very response,
 * or of the one that the caller synced: in the study in which it did so last, where it is one alone.
 */
export async function sessionsNamed(
  tx: Tx,
  items: readonly ResponseItem[],
  sessions: readonly Decided[],
  claims: readonly Claim[],
  caller: SessionCaller,
  lock: boolean,
): Promise<NamedSessions> {
  if (items.length === 0) return { all: [], tasks: new Map(), named: () => 'unknown' };
  const names = new Set(items.map(({ given }) => given.sessionId));
  const claimants =
    caller.participantId === null
      ? await claimantsOf(
          tx,
          claims.filter(({ local_id }) => names.has(local_id)),
          sessions,
        )
      : new Map([...names].map((name) => [name, new Set([caller.participantId])]));
  const holders = await holdersOf(
    tx,
    items.filter(({ given }) => !claimants.has(given.sessionId)),
    caller,
  );
  const stored = await sessionsOfResponses(
    tx,
    {
      ids: [...[...names].filter((name) => UUID.test(name)), ...holders.ids],
      localIds: [...claimants.keys()],
      own: caller.participantId,
      participants: [...new Set([...claimants.values()].flatMap((people) => [...people].flatMap((id) => id ?? [])))],
    },
    lock,
  );
  const byId = new Map<string, Candidate>(stored.map((row) => [row.id, row]));
  // The row knows the battery of a session that was there before.
  for (const { session, offline } of sessions)
    if (session && offline && !byId.has(session.id)) byId.set(session.id, { ...session, local_id: offline.local_id });
  const all = [...byId.values()];
  const byClaim = new Map<string, Candidate[]>();
  for (const session of all) {
    if (session.local_id === null || !claimants.get(session.local_id)?.has(session.participant_id)) continue;
    byClaim.set(session.local_id, [...(byClaim.get(session.local_id) ?? []), session]);
  }
  const tasks = await tasksOf(
    tx,
    stored.map(({ id }) => id),
  );
  const hasIt =
    (given: ResponseGiven) =>
    ({ id }: Candidate) => {
      const known = tasks.get(id)?.get(given.task);
      return known?.local_id === given.id && known.content_hash === given.content.hash;
    };
  const answeredBy = (given: ResponseGiven) =>
    holders.answered
      .flatMap((id) => byId.get(id) ?? [])
      .filter((session) => session.local_id === given.sessionId && hasIt(given)(session))
      .map((session) => ({ ...session, own: session.started_by_id === caller.userId }));
  const named = (given: ResponseGiven) => {
    const itself = byId.get(given.sessionId.toLowerCase());
    if (itself) return itself;
    const people = claimants.get(given.sessionId);
    if (people) return ofClaimants(byClaim.get(given.sessionId) ?? [], people.size, given, hasIt(given));
    return ofHolders(holders.byLocalId.get(given.sessionId) ?? [], byId, given, answeredBy(given));
  };
  return { all, tasks, named };
}

/** Of each local id, whose sessions of this call bear it; null: somebody who is not known. */
async function claimantsOf(
  tx: Tx,
  claims: readonly Claim[],
  sessions: readonly Decided[],
): Promise<Map<string, Set<string | null>>> {
  const key = ({ study_id, ref }: ParticipantRef) => `${study_id} ${ref}`;
  const known = new Map<string, string | null>();
  for (const { item, offline } of sessions)
    if (item.kind === 'session')
      known.set(key(refOf(item.given.studyId, item.given.participantId)), offline?.participant_id ?? null);
  const open = claims.flatMap(({ ref }) => (ref !== null && !known.has(key(ref)) ? [ref] : []));
  const people = open.length === 0 ? [] : await syncParticipants(tx, open, false);
  for (const ref of open) known.set(key(ref), personOf(people, ref)?.id ?? null);
  const found = new Map<string, Set<string | null>>();
  for (const { local_id, ref } of claims) {
    const person = ref === null ? null : (known.get(key(ref)) ?? null);
    const others = found.get(local_id);
    if (others) others.add(person);
    else found.set(local_id, new Set([person]));
  }
  return found;
}

/** Of local ids that the call itself has no session for, where their sessions are, and which are to be looked at. */
interface Holders {
  byLocalId: Map<string, LocalIdHolders[]>;
  ids: string[];
  answered: readonly string[];
}
async function holdersOf(tx: Tx, items: readonly ResponseItem[], caller: SessionCaller): Promise<Holders> {
  const byLocalId = new Map<string, LocalIdHolders[]>();
  if (items.length === 0) return { byLocalId, ids: [], answered: [] };
  for (const row of await localIdHolders(tx, [...new Set(items.map(({ given }) => given.sessionId))], caller.userId)) {
    byLocalId.set(row.local_id, [...(byLocalId.get(row.local_id) ?? []), row]);
  }
  const doubtful = items.filter(({ given }) => count(byLocalId.get(given.sessionId) ?? []) > 1);
  const answered =
    doubtful.length === 0
      ? []
      : await sessionsWithResponses(
          tx,
          doubtful.map(({ given }) => given.sessionId),
          doubtful.map(({ given }) => ({ id: given.id, hash: given.content.hash })),
        );
  const taken = [...byLocalId.values()].flatMap((rows) =>
    count(rows) === 1 ? [rows[0]!.id] : rows[0]!.own === 1 ? [rows[0]!.own_id!] : [],
  );
  return { byLocalId, ids: [...taken, ...answered], answered };
}

const count = (rows: readonly LocalIdHolders[]): number => rows.reduce((sum, { sessions }) => sum + sessions, 0);

function ofClaimants(
  pool: readonly Candidate[],
  people: number,
  given: ResponseGiven,
  hasIt: (session: Candidate) => boolean,
): Candidate | 'unknown' | 'ambiguous' {
  const [first] = pool;
  if (!first) return 'unknown';
  if (people === 1) return first;
  const having = pool.filter(hasIt);
  return alone(having, given) ?? (having.length === people ? first : 'ambiguous');
}

/** @param having those that have this very response */
function ofHolders(
  rows: readonly LocalIdHolders[],
  byId: ReadonlyMap<string, Candidate>,
  given: ResponseGiven,
  having: readonly (Candidate & { own: boolean })[],
): Candidate | 'unknown' | 'ambiguous' {
  const [latest] = rows;
  if (!latest) return 'unknown';
  if (count(rows) === 1) return byId.get(latest.id) ?? 'unknown';
  const repeated = alone(having, given);
  if (repeated) return repeated;
  if (latest.own === 1) return byId.get(latest.own_id!) ?? 'unknown';
  const own = having.filter((session) => session.study_id === latest.study_id && session.own);
  return latest.own > 1 && own.length >= latest.own ? own[0]! : 'ambiguous';
}

/**
 * The one session that has a response already. A summary without trials, whose times are nobody else's, may be
 * another's by chance.
 */
const alone = (having: readonly Candidate[], given: ResponseGiven): Candidate | undefined =>
  having.length === 1 && given.content.trials.length > 0 ? having[0] : undefined;

async function tasksOf(tx: Tx, sessionIds: readonly string[]): Promise<Tasks> {
  const tasks: Tasks = new Map();
  for (const row of sessionIds.length === 0 ? [] : await taskHashes(tx, sessionIds)) {
    const own = tasks.get(row.session_id);
    if (own) own.set(row.task, row);
    else tasks.set(row.session_id, new Map([[row.task, row]]));
  }
  return tasks;
}
