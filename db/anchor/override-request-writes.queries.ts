import type { Signature } from '../models/records.js';
import { execute, query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** An override request as a decision about it reads it. */
export interface LockedOverrideRequest {
  id: string;
  status: string;
  requested_by_id: string;
  new_enrollment_date: string;
  regenerate_schedule: boolean;
  reason: string | null;
  expires_at: string;
  offered_signatures: Record<string, (Signature & { decision: string }) | undefined>;
}

/** As stored. */
type StoredRequest = Omit<LockedOverrideRequest, 'requested_by_id'> & {
  requested_by_id: string | null;
  imported_by: string | null;
};

/**
 * A request as its decision counts it. An imported request belongs to the importer: the person named in its document
 * made no request here, and the importer can't decide it.
 */
const asAskedHere = (stored: StoredRequest | undefined): LockedOverrideRequest | undefined =>
  stored && { ...stored, requested_by_id: (stored.requested_by_id ?? stored.imported_by)! };

/** Reads and locks one request of a participant. */
export async function lockOverrideRequest(
  tx: Tx,
  participantId: string,
  id: string,
): Promise<LockedOverrideRequest | undefined> {
  return asAskedHere(await tx('override_requests').where({ id, participant_id: participantId }).forUpdate().first());
}

/** Reads and locks a participant's pending request. */
export async function lockPendingRequest(tx: Tx, participantId: string): Promise<LockedOverrideRequest | undefined> {
  return asAskedHere(
    await tx('override_requests').where({ participant_id: participantId, status: 'pending' }).forUpdate().first(),
  );
}

export interface NewOverrideRequest {
  id: string;
  study_id: string;
  participant_id: string;
  previous_enrollment_date: string | null;
  new_enrollment_date: string;
  reason: string | null;
  regenerate_schedule: boolean;
  requested_by_id: string;
  /** How long it stays pending; the approvers are reminded after half of that. */
  timeoutHours: number;
  impact: unknown;
  preview_hash: string;
}

export async function insertOverrideRequest(tx: Tx, request: NewOverrideRequest): Promise<void> {
  await execute(
    tx,
    `insert into override_requests (id, study_id, participant_id, previous_enrollment_date, new_enrollment_date, reason,
      regenerate_schedule, requested_by_id, remind_at, expires_at, impact, preview_hash)
     values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 second',
       clock_timestamp() + $10 * interval '1 second', $11::jsonb, $12)`,
    [
      request.id,
      request.study_id,
      request.participant_id,
      request.previous_enrollment_date,
      request.new_enrollment_date,
      request.reason,
      request.regenerate_schedule,
      request.requested_by_id,
      request.timeoutHours * 1800,
      request.timeoutHours * 3600,
      JSON.stringify(request.impact),
      request.preview_hash,
    ],
  );
}

export interface RequestEnd {
  status: 'approved' | 'denied';
  /** Null: nobody decided it; it timed out or the participant withdrew. */
  decidedBy: string | null;
  reason: string | null;
  signature: Signature | undefined;
}

/** Ends a request. A decision sent without the API also has a signature, marked as claimed. */
export async function endOverrideRequest(
  tx: Tx,
  id: string,
  { status, decidedBy, reason, signature }: RequestEnd,
): Promise<void> {
  await execute(
    tx,
    `update override_requests set status = $1, decided_by_id = $2::uuid, decided_at = clock_timestamp(),
      decision_reason = $3, offered_signatures = '{}',
       signature = coalesce($5::jsonb,
         (select jsonb_build_object('meaning', $6::text, 'name', u.name, 'signed_at',
         to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'proved_by', 'claimed')
         from users u where u.id = $2::uuid))
     where id = $4`,
    [
      status,
      decidedBy,
      reason,
      id,
      signature ? JSON.stringify(signature) : null,
      status === 'approved' ? 'approval' : 'rejection',
    ],
  );
}

/** Notes that the approvers of a request were reminded. */
export async function markReminded(tx: Tx, id: string): Promise<void> {
  await execute(
    tx,
    'update override_requests set reminded_at = clock_timestamp() where id = $1 and reminded_at is null',
    [id],
  );
}

/**
 * Whether a user `u` works with a participant of study $1 and site $2 now. Users restricted to sites work with
 * participants of these sites only, and are not notified of others.
 */
const WORKS_HERE = `u.status = 'active'
   and (u.role = 'admin' or exists (select from user_studies s where s.user_id = u.id and s.study_id = $1::uuid))
   and (u.role not in ('coordinator', 'investigator') or not exists (select from user_sites x
     join sites i on i.id = x.site_id where x.user_id = u.id and i.study_id = $1::uuid)
     or exists (select from user_sites x where x.user_id = u.id and x.site_id = $2::uuid))`;

/**
 * Plans one message to each user who may decide a request, except the requester.
 * @returns the ids of the new messages
 */
export async function insertApproverNotices(
  tx: Tx,
  notice: {
    study_id: string;
    participant_id: string;
    site_id: string | null;
    requestId: string;
    requestedBy: string;
    occasion: string;
    roles: readonly string[];
  },
): Promise<string[]> {
  const { study_id, participant_id, site_id, requestId, requestedBy, occasion, roles } = notice;
  const rows = await query<{ id: string }>(
    tx,
    `insert into notifications (study_id, participant_id, user_id, subject_id, kind, channel, dedupe_key)
     select $1::uuid, $3::uuid, u.id, $4::uuid, 'override_pending', 'email',
       'override:' || $4::uuid || ':' || $5::text || ':' || u.id
     from users u where ${WORKS_HERE} and u.role = any($6) and u.id <> $7::uuid
     on conflict (dedupe_key) where dedupe_key is not null do nothing returning id`,
    [study_id, site_id, participant_id, requestId, occasion, [...roles], requestedBy],
  );
  return rows.map(({ id }) => id);
}

/**
 * Plans the message on a request's end to the user who asked for it; an imported request has none.
 * @returns the ids of the new messages: one, or none
 */
export async function insertOutcomeNotice(
  tx: Tx,
  { study_id, site_id, requestId }: { study_id: string; site_id: string | null; requestId: string },
): Promise<string[]> {
  const rows = await query<{ id: string }>(
    tx,
    `insert into notifications (study_id, participant_id, user_id, subject_id, kind, channel, dedupe_key)
     select o.study_id, o.participant_id, u.id, o.id, 'override_decided', 'email', 'override:' || o.id || ':decided'
     from override_requests o join users u on u.id = o.requested_by_id where o.id = $3::uuid and ${WORKS_HERE}
     on conflict (dedupe_key) where dedupe_key is not null do nothing returning id`,
    [study_id, site_id, requestId],
  );
  return rows.map(({ id }) => id);
}
