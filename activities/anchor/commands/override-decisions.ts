import type { LockedOverrideRequest } from '../../../db/anchor/override-request-writes.queries.js';
import type { OverrideDecision, Sender } from '../../../workflows/contract.js';
import { noTransition } from '../../../workflows/domain/anchor/decide.js';
import { grant, judgedOverride } from './judged-override.js';
import { givenReason, noTrace, reasonRequired, rejected } from './outcome.js';
import type { CommandContext, CommandOutcome } from './outcome.js';
import type { AnchorSnapshot } from '../snapshot.js';

/**
 * Decides an override request, on every route. A decision that fails a check changes nothing and is an audit record of
 * the study with the user and the request.
 */
export async function decideOverride(context: CommandContext, message: OverrideDecision): Promise<CommandOutcome> {
  const { snapshot, signature } = context;
  const { row, facts } = snapshot;
  // Nobody is authorized to decide without a request.
  const request = context.request!;
  const sender: Sender = {
    actor_user_id: message.approver_user_id,
    actor_type: 'user',
    request_id: message.http_request_id ?? null,
    ip_address: message.ip_address ?? null,
    user_agent: message.user_agent ?? null,
  };
  if (request.status !== 'pending' || request.expires_at <= facts.now)
    return rejected(409, 'NOT_PENDING', `the request is ${request.status === 'pending' ? 'expired' : request.status}`);
  // A reason that is given now would be kept of an erased person.
  if (row.erased) return rejected(409, 'NOT_PENDING', 'the identity was erased: the request ended with it');
  const reason = givenReason(message);
  const decidedBy = message.approver_user_id;
  if (message.decision === 'deny')
    return reason === null
      ? reasonRequired('a denial needs a reason')
      : deny(snapshot, request, { decidedBy, reason, sender, signature });
  if (row.participant.status === 'withdrawn')
    return rejected(409, 'PARTICIPANT_WITHDRAWN', 'the participant has withdrawn: the anchor stays as it is');
  const judged = await judgedOverride(
    context,
    sender,
    {
      date: request.new_enrollment_date,
      regenerate: request.regenerate_schedule,
      requestedBy: request.requested_by_id,
    },
    message.preview_hash,
  );
  if ('rejection' in judged) return judged.rejection;
  const outcome = grant(context, judged, sender, {
    reason: request.reason,
    who: { requested_by: request.requested_by_id, approved_by: decidedBy },
    command: {
      kind: 'decide_override',
      decision: 'approve',
      override_request_id: request.id,
      new_enrollment_date: judged.date,
      regenerate_schedule: judged.regenerate,
      requested_by: request.requested_by_id,
    },
  });
  return {
    ...outcome,
    result: { ...outcome.result, override_request_id: request.id },
    overrideRequest: { kind: 'end', id: request.id, end: { status: 'approved', decidedBy, reason, signature } },
  };
}

function deny(
  snapshot: AnchorSnapshot,
  request: LockedOverrideRequest,
  { sender, ...by }: Pick<CommandContext, 'signature'> & { decidedBy: string | null; reason: string; sender: Sender },
): CommandOutcome {
  return {
    result: { result: 'denied', errors: [], warnings: [], override_request_id: request.id },
    overrideRequest: { kind: 'end', id: request.id, end: { status: 'denied', ...by } },
    decision: {
      snapshot,
      transitions: [noTransition(snapshot.facts.anchor, 'OVERRIDE_DENIED')],
      trace: noTrace,
      sender,
      reason: by.reason,
      denialReason: by.reason,
      approver: by.decidedBy,
      command: {
        kind: 'decide_override',
        decision: 'deny',
        override_request_id: request.id,
        new_enrollment_date: request.new_enrollment_date,
      },
    },
  };
}

/** The deadline passed, or the participant withdrew: the request is denied with that reason. */
export function expireOverride({ snapshot, request }: CommandContext): CommandOutcome {
  if (!request || !hasEnded(snapshot, request)) return { result: { result: 'unchanged', errors: [], warnings: [] } };
  return deny(snapshot, request, {
    decidedBy: null,
    reason: isWithdrawn(snapshot) ? 'withdrawn' : 'expired',
    sender: { actor_type: 'system' },
    signature: undefined,
  });
}

const isWithdrawn = ({ row }: AnchorSnapshot): boolean => row.participant.status === 'withdrawn';
const hasEnded = (snapshot: AnchorSnapshot, { expires_at }: LockedOverrideRequest): boolean =>
  isWithdrawn(snapshot) || expires_at <= snapshot.facts.now;

/**
 * Half of the time is over: the approvers are reminded once. After an outage all of it may be over: nobody is reminded
 * of what cannot be decided any more.
 */
export function remindApprovers(context: CommandContext): CommandOutcome {
  const { snapshot, request } = context;
  if (request && hasEnded(snapshot, request)) return expireOverride(context);
  return {
    result: { result: 'unchanged', errors: [], warnings: [] },
    ...(request && {
      overrideRequest: { kind: 'reminded', id: request.id },
      approverNotice: { requestId: request.id, requestedBy: request.requested_by_id, occasion: 'reminded' },
    }),
  };
}
