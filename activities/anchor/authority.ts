import { nowMs } from '../../db/client/clock.js';
import type { Signature } from '../../db/models/records.js';
import type { LockedOverrideRequest } from '../../db/anchor/override-request-writes.queries.js';
import { studyHasEnded } from '../../db/studies/study-ended.js';
import { signaturesAskAgain } from '../../db/studies/studies.queries.js';
import type { UserPermissions } from '../../db/identity/user-permissions.queries.js';
import type { OverrideDecision } from '../../workflows/contract.js';
import { approverRoles } from '../../workflows/domain/anchor/approvers.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { SENDER_REQUIRED } from './commands/commands.js';
import type { AnchorCommand } from './commands/commands.js';
import { rejected } from './commands/outcome.js';
import type { CommandOutcome } from './commands/outcome.js';
import type { AnchorSnapshot } from './snapshot.js';
import type { Tx } from '../../db/client/database.js';

/** The result of authorizing a sender. */
export interface Authorized {
  /** The approver's signature of this very decision. */
  signature?: Signature | undefined;
}

/**
 * Checks that the policy allows the sender's command. Commands without a person need no permission.
 * @param user the sender's role in the participant's study and site ; null: none
 * @param request the override request that a decision is about, locked
 * @param authorizationId of the message, if it is proved by one
 * @param usuallyAskAgain whether decisions need a new proof of identity if the study does not say
 */
export async function authorizeSender(
  tx: Tx,
  { row, policy }: AnchorSnapshot,
  command: AnchorCommand,
  user: UserPermissions | null,
  request: LockedOverrideRequest | undefined,
  { authorizationId, usuallyAskAgain }: { authorizationId: string | undefined; usuallyAskAgain: boolean },
): Promise<Authorized | { rejection: CommandOutcome }> {
  switch (command.kind) {
    case 'set': {
      const own = command.message.actor_type === 'participant' && policy.permissions.participant_can_set;
      if (!own && !maySet(user, policy)) return mayNot('set');
      return own && (await studyHasEnded(tx, row.study_id))
        ? rejection(403, 'FORBIDDEN', 'the study has ended: only its staff set the enrollment date')
        : {};
    }
    case 'cancel':
      return maySet(user, policy) ? {} : mayNot('set');
    case 'evaluate':
      // The service evaluates by itself too: then it names nobody.
      return !command.message.actor_user_id || mayEvaluate(user)
        ? {}
        : rejection(403, 'FORBIDDEN', 'this user does not evaluate the enrollment date');
    case 'override':
    case 'override_back':
      return mayOverride(user, policy) ? {} : mayNot('override');
    case 'decide_override':
      return authorizeDecision(
        tx,
        { row, policy },
        { message: command.message, signature: request && signatureFor(request, command.message, authorizationId) },
        user,
        request,
        usuallyAskAgain,
      );
    default:
      return {};
  }
}

const rejection = (...refusal: Parameters<typeof rejected>) => ({ rejection: rejected(...refusal) });
const mayNot = (what: 'set' | 'override') =>
  rejection(403, 'FORBIDDEN', `the policy does not let this role ${what} the enrollment date`);

/** An approver decides another user's request, with a proof of identity if the study requires one. */
async function authorizeDecision(
  tx: Tx,
  { row, policy }: Pick<AnchorSnapshot, 'row' | 'policy'>,
  { message, signature }: { message: OverrideDecision; signature: Signature | undefined },
  user: UserPermissions | null,
  request: LockedOverrideRequest | undefined,
  usuallyAskAgain: boolean,
): Promise<Authorized | { rejection: CommandOutcome }> {
  if (!request)
    return rejection(404, 'OVERRIDE_REQUEST_NOT_FOUND', 'there is no such override request of this participant');
  if (message.decision !== 'approve' && message.decision !== 'deny')
    return rejection(422, 'INVALID_DECISION', 'decision must be "approve" or "deny"');
  if (!message.approver_user_id) return rejection(422, 'INVALID_MESSAGE', SENDER_REQUIRED);
  if (request.requested_by_id === message.approver_user_id)
    return rejection(403, 'SELF_APPROVAL', 'who asked for an override does not decide it');
  if (!mayApprove(user, policy))
    return rejection(403, 'FORBIDDEN', 'the policy does not let this user decide overrides');
  // A request that is decided takes no signature: its decision is refused as that, not for want of a proof.
  if (
    request.status === 'pending' &&
    (!signature || signature.proved_by === 'session') &&
    (await signaturesAskAgain(tx, row.study_id, usuallyAskAgain))
  )
    return rejection(401, 'REAUTHENTICATION_REQUIRED', 'the study asks for password or code with each decision');
  return { signature };
}

const member = (user: UserPermissions | null): user is UserPermissions =>
  user !== null && user.active && user.inStudy && user.inSite;

/** As the route of the API: staff who work with participants. */
const mayEvaluate = (user: UserPermissions | null): boolean => member(user) && user.role !== 'data_manager';

/** The policy's `can_set`. */
const maySet = (user: UserPermissions | null, policy: Policy): boolean =>
  member(user) && (policy.permissions.can_set as string[]).includes(user.role);

/** The policy's `can_override`. */
const mayOverride = (user: UserPermissions | null, policy: Policy): boolean =>
  member(user) && (policy.permissions.can_override as string[]).includes(user.role);

/** The policy's approvers. */
const mayApprove = (user: UserPermissions | null, policy: Policy): boolean =>
  member(user) && approverRoles(policy).includes(user.role);

/** A signature is too old for a decision whose message was in transit for longer. */
const SIGNATURE_HOURS = 24;

/**
 * The approver's signature of this very decision: the one for this message, by its authorization, so that two decisions
 * at once do not take each other's; else one that any message of the approver may carry out.
 */
function signatureFor(
  { offered_signatures: offered }: LockedOverrideRequest,
  { approver_user_id: userId, decision }: OverrideDecision,
  authorizationId: string | undefined,
): Signature | undefined {
  const signed = (authorizationId === undefined ? undefined : offered[authorizationId]) ?? offered[userId];
  if (signed?.decision !== decision || Date.parse(signed.signed_at) < nowMs() - SIGNATURE_HOURS * 3_600_000)
    return undefined;
  const { meaning, name, signed_at, proved_by } = signed;
  return { meaning, name, signed_at, proved_by };
}
