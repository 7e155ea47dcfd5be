import { nowMs } from '../../../db/client/clock.js';
import type { AuditTrail } from '../../../db/audit/audit.js';
import { sessionsByLocalId, sessionsInStudies, syncParticipants } from '../../../db/assessment/offline.queries.js';
import { problem } from '../../http/errors.js';
import type { SessionCaller } from '../sessions/sessions-caller.service.js';
import { decideItems } from './sync-decide.js';
import { acceptsLateDelivery } from './late-delivery.js';
import { readItems, rejection } from './sync-items.js';
import type { SyncItem, ItemResult } from './sync-items.js';
import { claimsOf } from './sync-claims.js';
import { resolveParticipant } from './references.js';
import { writeDecided } from './sync-write.js';
import type { Writing } from './sync-write.js';
import type { Claim } from './decided-items.js';
import type { Tx } from '../../../db/client/database.js';
import type { RequestContext } from '../../http/request-context.js';
import { faultCode } from '../../../db/client/connection/driver-faults.js';

export const MAX_SYNC_ITEMS = 1_000;
export interface Syncing {
  tx: Tx;
  audit: AuditTrail;
  caller: SessionCaller;
  context: RequestContext;
  minutes: number;
}
export interface Sent {
  sessions: readonly unknown[];
  responses: readonly unknown[];
  deviceTime: string | undefined;
}

/**
 * Stores what a device recorded offline; each item is answered separately, in the order sent: sessions, then responses.
 * It is idempotent.
 * @throws 413 more than 1,000 items
 */
export async function sync({ tx, audit, caller, context, minutes }: Syncing, sent: Sent): Promise<ItemResult[]> {
  requireFew(sent);
  const { items: read, results } = await readItems(sent.sessions, sent.responses);
  const clockSkewMs = skewOf(sent);
  const items = await acceptsLateDelivery(tx, caller, read, results, aheadOf(clockSkewMs));
  const writing: Writing = { audit, caller, context, minutes, clockSkewMs };
  for (const [index, result] of await apply(tx, items, claimsOf(sent.sessions), writing)) results[index] = result;
  return results;
}

/** By how much the device's clock is ahead, or behind, while it sends; null: it does not say. */
function skewOf({ deviceTime }: Pick<Sent, 'deviceTime'>): number | null {
  const skew = deviceTime === undefined ? NaN : Date.parse(deviceTime) - nowMs();
  return Number.isFinite(skew) ? Math.round(skew) : null;
}

/**
 * What a clock that is ahead shows was recorded earlier. Of one that is behind nothing is concluded: it may have been
 * right before, and nothing is to be lost.
 */
const aheadOf = (skewMs: number | null): number => Math.max(0, skewMs ?? 0);

/**
 * Writes all items as one set behind a savepoint. If the database refuses the set because of its content, halves are
 * tried, so that one invalid item is found and does not stop the others; usually there is none, and a few statements
 * suffice.
 */
async function apply(
  tx: Tx,
  items: readonly SyncItem[],
  claims: readonly Claim[],
  writing: Writing,
): Promise<Map<number, ItemResult>> {
  if (items.length === 0) return new Map();
  try {
    return await tx.transaction(async (savepoint) =>
      writeDecided(
        savepoint as Tx,
        await decideItems(savepoint as Tx, items, claims, writing.caller, true, {
          at: writing.context.receivedMs,
          ahead: aheadOf(writing.clockSkewMs),
        }),
        writing,
      ),
    );
  } catch (fault) {
    if (!isBadValue(fault)) throw fault;
    if (items.length === 1) {
      const [item] = items;
      for (const claim of claims) if (claim.index === item!.index) claim.outcome = { kind: 'rejected' };
      return new Map([
        [item!.index, rejection(item!.kind, item!.given.id, 'INVALID_VALUE', 'has a value that cannot be stored')],
      ]);
    }
    const middle = items.length >> 1;
    const first = await apply(tx, items.slice(0, middle), claims, writing);
    return new Map([...first, ...(await apply(tx, items.slice(middle), claims, writing))]);
  }
}

/** Classes 22 and 23 of SQLSTATE: the value is invalid; the database works. */
function isBadValue(fault: unknown): boolean {
  return /^2[23][0-9A-Z]{3}$/.test(faultCode(fault) ?? '');
}

export interface ConflictFound {
  conflict_type: string;
  local_id: string;
  server_id: string | null;
  resolution: string;
  message: string;
}

export interface ConflictReport {
  has_conflicts: boolean;
  session_conflicts: ConflictFound[];
  response_conflicts: ConflictFound[];
  rejected: ItemResult[];
}

/**
 * The conflicts that a sync of these items would have; nothing is written. Items that it would reject are named one by
 * one. An unreadable session whose id the server has is also a conflict: the two cannot be the same.
 * @throws 413
 */
export async function checkConflicts(
  tx: Tx,
  caller: SessionCaller,
  sent: Omit<Sent, 'deviceTime'>,
): Promise<ConflictReport> {
  requireFew(sent);
  const { items: read, results } = await readItems(sent.sessions, sent.responses);
  // This call does not tell the device's clock.
  const arrival = { at: nowMs(), ahead: 0 };
  const items = await acceptsLateDelivery(tx, caller, read, results, arrival.ahead);
  const { sessions, responses, decide } = await decideItems(tx, items, claimsOf(sent.sessions), caller, false, arrival);
  const decided = [...sessions, ...responses.map(decide)];
  const found = (kind: SyncItem['kind']): ConflictFound[] =>
    decided
      .filter(({ item }) => item.kind === kind)
      .flatMap(({ item, decision }) =>
        decision.status === 'conflict'
          ? decision.conflicts.map(({ conflict_type, resolution, message }) => ({
              conflict_type,
              resolution,
              message,
              local_id: item.given.id,
              server_id: decision.write?.kind === 'insert' ? null : decision.server_id,
            }))
          : [],
      );
  const answered = new Map<number, ItemResult | null>(
    decided.map(({ item, decision }) => [
      item.index,
      decision.status === 'rejected' ? rejection(item.kind, item.given.id, decision.code, decision.message) : null,
    ]),
  );
  const rejected = results.flatMap((result, index) => (answered.has(index) ? (answered.get(index) ?? []) : result));
  const unreadable = sent.sessions.filter((_, index) => !answered.has(index));
  const session_conflicts = [...found('session'), ...(await conflictsOfUnreadable(tx, unreadable, caller))];
  const response_conflicts = found('response');
  return {
    has_conflicts: session_conflicts.length + response_conflicts.length > 0,
    session_conflicts,
    response_conflicts,
    rejected,
  };
}

/**
 * Conflicts of the participant that an item names, or of the caller. If staff name none: of the only session with its
 * id.
 */
async function conflictsOfUnreadable(
  tx: Tx,
  sessions: readonly unknown[],
  caller: SessionCaller,
): Promise<ConflictFound[]> {
  const claims = claimsOf(sessions).flatMap((claim) =>
    claim.study_id === null ? [] : [{ ...claim, study_id: claim.study_id }],
  );
  if (claims.length === 0) return [];
  const people = await syncParticipants(
    tx,
    claims.flatMap(({ ref }) => ref ?? []),
    false,
  );
  const named = claims.map((claim) => ({
    ...claim,
    participant_id:
      (claim.ref ? resolveParticipant(people, claim.ref)?.id : claim.nobody ? caller.participantId : null) ?? null,
  }));
  const keys = named.flatMap(({ participant_id, local_id }) =>
    participant_id !== null && (caller.participantId ?? participant_id) === participant_id
      ? [{ participant_id, local_id }]
      : [],
  );
  const known = await sessionsByLocalId(tx, keys);
  const open = caller.participantId === null ? named.filter(({ nobody }) => nobody) : [];
  const held = open.length === 0 ? [] : await sessionsInStudies(tx, open);
  return named.flatMap(({ local_id, study_id, participant_id, nobody }) => {
    const own = participant_id === null && nobody ? held : known.filter((row) => row.participant_id === participant_id);
    const [session, another] = own.filter((row) => row.local_id === local_id && row.study_id === study_id);
    return !session || another
      ? []
      : [
          {
            conflict_type: 'duplicate_session',
            resolution: 'server_wins',
            message: 'a session with this id is there, and what was sent of it cannot be read',
            local_id,
            server_id: session.id,
          },
        ];
  });
}

function requireFew({ sessions, responses }: Pick<Sent, 'sessions' | 'responses'>): void {
  const count = sessions.length + responses.length;
  if (count > MAX_SYNC_ITEMS)
    throw problem('TOO_LARGE', {
      detail: `${count} items were sent: at most ${MAX_SYNC_ITEMS} are accepted in one call.`,
    });
}

/** The counts of a bulk answer. */
export const countResults = (results: readonly ItemResult[]) => {
  const count = (status: ItemResult['status']) => results.filter((result) => result.status === status).length;
  return {
    results,
    created: count('created'),
    duplicates: count('duplicate'),
    conflicts: count('conflict'),
    rejected: count('rejected'),
  };
};
