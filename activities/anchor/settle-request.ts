import { nowMs } from '../../db/clock.js';
import type { Tx } from '../../db/knex.js';
import type { Signature } from '../../db/models/records.js';
import type { OverrideDecision } from '../../workflows/contract.js';
import { execute } from '../../db/query.js';

/** An override request as its decision reads it. */
export interface RequestRow {
  id: string;
  status: string;
  requested_by_id: string;
  new_enrollment_date: string;
  regenerate_schedule: boolean;
  reason: string | null;
  expires_at: string;
  offered_signatures: Record<string, (Signature & { decision: string }) | undefined>;
}

/** A signature that was given for a decision whose message has been on its way for longer is not the one of it. */
const SIGNATURE_HOURS = 24;

/** What the approver has signed for this very decision. */
export function signatureFor(
  { offered_signatures: offered }: RequestRow,
  { approver_user_id: userId, decision }: OverrideDecision,
): Signature | undefined {
  const found = offered[userId];
  if (found?.decision !== decision || Date.parse(found.signed_at) < nowMs() - SIGNATURE_HOURS * 3_600_000)
    return undefined;
  const { meaning, name, signed_at, proved_by } = found;
  return { meaning, name, signed_at, proved_by };
}

/** Ends a request. A decision that was sent past the API has a signature too, which says that it is only claimed. */
export const settle = (
  tx: Tx,
  id: string,
  status: 'approved' | 'denied',
  { by, reason, signature }: { by: string | null; reason: string | null; signature: Signature | undefined },
) =>
  execute(
    tx,
    `update override_requests set status = $1, decided_by_id = $2, decided_at = clock_timestamp(), decision_reason = $3, offered_signatures = '{}',
       signature = coalesce($4::jsonb, (select jsonb_build_object('meaning', $5::text, 'name', u.name, 'signed_at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'proved_by', 'claimed') from users u where u.id = $6::uuid))
     where id = $7`,
    [
      status,
      by,
      reason,
      signature ? JSON.stringify(signature) : null,
      status === 'approved' ? 'approval' : 'rejection',
      by,
      id,
    ],
  );
