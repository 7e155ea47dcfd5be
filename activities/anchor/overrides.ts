import { randomUUID } from 'node:crypto';
import { hashOf } from '../../db/hashing.js';
import { putOutbox } from '../../db/outbox.js';
import type { Signature } from '../../db/models/records.js';
import { signaturesAskAgain } from '../../db/queries/studies.js';
import { readScheduleInputs } from '../../db/queries/schedules.js';
import type { OverrideDecision, RequestOverride, Sender } from '../../workflows/contract.js';
import { isDate } from '../../workflows/domain/dates.js';
import { judgeOverride, overrideRefusalCode, standStill } from '../../workflows/domain/decide.js';
import type { Impact } from '../../workflows/domain/preview.js';
import type { DecisionCommand } from '../../workflows/domain/rederive.js';
import { previewBasis, previewOf } from '../../workflows/domain/regeneration.js';
import type { ScheduleInputs } from '../../workflows/domain/regeneration.js';
import type { Fault } from '../../workflows/domain/types.js';
import { approverRoles } from '../../workflows/domain/approvers.js';
import { mayApprove, mayOverride, standingOf } from './authority.js';
import type { Bench, Carried } from './carry-out.js';
import { SENDER_REQUIRED } from './commands.js';
import { settle, signatureFor } from './settle-request.js';
import type { RequestRow } from './settle-request.js';
import { writeOutcomes } from './write.js';
import { execute, query } from '../../db/query.js';

const refuse = (status: number, code: string, detail: string, more: Partial<Carried> = {}): Carried => ({
  result: 'refused',
  refused: { status, code, detail },
  errors: [],
  warnings: [],
  ...more,
});

interface Judged {
  inputs: ScheduleInputs;
  judgement: ReturnType<typeof judgeOverride>;
  impact: Impact;
  preview_hash: string;
  regenerate: boolean;
  date: string;
}

/** Judges an override as the facts stand now, with what it would do to the visits. */
async function judge(bench: Bench, date: string, regenerate: boolean, actorId: string | null): Promise<Judged> {
  const { row, policy, facts, keyOf } = bench.case;
  const inputs = (await readScheduleInputs(bench.tx, row.study_id, [row.participant_id])).get(row.participant_id)!;
  const judgement = judgeOverride(policy, facts, date, actorId);
  const impact = previewOf(date, inputs, keyOf, {
    today: facts.today,
    warnings: judgement.warnings.map((w) => `${w.code}: ${w.message}`),
    regenerate,
  });
  const preview_hash = hashOf(
    previewBasis(inputs, { policy_version: row.policy_version, anchor_version: row.anchor.version, date, regenerate }),
  );
  return { inputs, judgement, impact, preview_hash, regenerate, date };
}

/** What deserves a look: the same of an override that is applied and of one that waits for its approval. */
const warningsOf = ({ judgement, regenerate }: Judged): Fault[] =>
  regenerate
    ? judgement.warnings
    : [
        ...judgement.warnings,
        { code: 'SCHEDULE_NOT_REGENERATED', message: 'the schedule still follows the former date' },
      ];

const staleness = (given: string | null | undefined, judged: Judged): Carried | null =>
  given && given !== judged.preview_hash
    ? {
        result: 'refused',
        errors: [],
        warnings: [],
        refused: {
          status: 409,
          code: 'PREVIEW_STALE',
          detail: 'what the preview showed has changed since',
          preview: { ...judged.impact, preview_hash: judged.preview_hash },
        },
      }
    : null;

/** An override asked for: applied at once, or kept for an approver (interface, "Errors" 7; decisions, section 5). */
export async function requestOverride(bench: Bench, message: RequestOverride): Promise<Carried> {
  const { row, policy, facts } = bench.case;
  const { permissions } = policy;
  if (!mayOverride(await standingOf(bench.tx, message.actor_user_id, row), policy))
    return refuse(403, 'FORBIDDEN', 'the policy does not let this role override the enrollment date');
  if (typeof message.new_enrollment_date !== 'string' || !isDate(message.new_enrollment_date))
    return refuse(422, 'INVALID_DATE', 'new_enrollment_date must be a date, YYYY-MM-DD');
  const reason = message.reason?.trim() ? message.reason : null;
  if (permissions.override_requires_reason && (message.reason === undefined || message.reason === null))
    return refuse(422, 'VALIDATION_FAILED', 'reason is required', {
      errors: [{ path: 'reason', code: 'REQUIRED', message: 'reason is required: the policy asks for one' }],
    });
  if (permissions.override_requires_reason && reason === null)
    return refuse(400, 'REASON_REQUIRED', 'the policy requires a reason', {
      errors: [{ code: 'REASON_REQUIRED', message: 'reason must not be empty' }],
    });
  if (facts.anchor.status !== 'finalized')
    return refuse(409, 'NOT_FINALIZED', `only a finalized date is overridden; the anchor is ${facts.anchor.status}`);
  if (row.pending_override)
    return refuse(409, 'OVERRIDE_PENDING', 'an override request waits for its decision already');
  const judged = await judge(
    bench,
    message.new_enrollment_date,
    message.regenerate_schedule ?? true,
    message.actor_user_id!,
  );
  const { errors, warnings } = judged.judgement;
  if (errors.length > 0)
    return refuse(400, overrideRefusalCode(errors), errors.map((e) => e.message).join('; '), { errors, warnings });
  const stale = staleness(message.preview_hash, judged);
  if (stale) return stale;
  const asked = {
    new_enrollment_date: judged.date,
    regenerate_schedule: judged.regenerate,
    requested_by: message.actor_user_id!,
  };
  if (!permissions.override_requires_approval)
    return grant(
      bench,
      judged,
      message,
      { reason, requested_by: message.actor_user_id!, approved_by: null },
      { kind: 'override', ...asked },
    );

  const id = randomUUID();
  const hours = policy.override_approval_timeout_hours;
  await execute(
    bench.tx,
    `insert into override_requests (id, study_id, participant_id, previous_enrollment_date, new_enrollment_date, reason, regenerate_schedule, requested_by_id, remind_at, expires_at, impact, preview_hash)
     values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 second', clock_timestamp() + $10 * interval '1 second', $11::jsonb, $12)`,
    [
      id,
      row.study_id,
      row.participant_id,
      facts.anchor.date,
      judged.date,
      reason,
      judged.regenerate,
      message.actor_user_id!,
      hours * 1800,
      hours * 3600,
      JSON.stringify(judged.impact),
      judged.preview_hash,
    ],
  );
  await writeOutcomes(bench.tx, bench.audit, row.study_id, [
    {
      case: bench.case,
      transitions: [standStill(facts.anchor, 'OVERRIDE_REQUESTED')],
      trace: judged.judgement.trace,
      sender: message,
      reason,
      command: { kind: 'override', ...asked, override_request_id: id },
    },
  ]);
  await tellApprovers(bench, id, message.actor_user_id!, 'asked');
  return {
    result: 'pending_approval',
    errors: [],
    warnings: warningsOf(judged),
    override_request_id: id,
    impact: { ...judged.impact, preview_hash: judged.preview_hash },
    facts,
  };
}

async function grant(
  bench: Bench,
  judged: Judged,
  sender: Sender,
  who: { reason: string | null; requested_by: string; approved_by: string | null },
  command: DecisionCommand,
): Promise<Carried> {
  const { row, facts } = bench.case;
  const { transition, trace } = judged.judgement;
  const [written] = await writeOutcomes(bench.tx, bench.audit, row.study_id, [
    {
      case: bench.case,
      transitions: [transition],
      trace,
      sender,
      reason: who.reason,
      override: who,
      approver: who.approved_by,
      command,
      ...(judged.regenerate && { schedule: { inputs: judged.inputs, date: judged.date, reason: 'override' } }),
    },
  ]);
  return {
    result: 'applied',
    errors: [],
    facts,
    impact: { ...judged.impact, preview_hash: judged.preview_hash },
    schedule_version_id: written!.schedule_version_id ?? null,
    warnings: warningsOf(judged),
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * An approver's decision, whoever sent it. One that fails a check changes nothing and is an audit record of the study
 * with the user and the request (decisions, section 5).
 */
export async function decideOverride(bench: Bench, message: OverrideDecision): Promise<Carried> {
  const { row, policy, facts } = bench.case;
  const sender: Sender = {
    actor_user_id: message.approver_user_id,
    actor_type: 'user',
    request_id: message.http_request_id ?? null,
    ip_address: message.ip_address ?? null,
    user_agent: message.user_agent ?? null,
  };
  const request: RequestRow | undefined =
    typeof message.request_id === 'string' && UUID.test(message.request_id)
      ? await bench
          .tx('override_requests')
          .where({ id: message.request_id, participant_id: row.participant_id })
          .forUpdate()
          .first()
      : undefined;
  if (!request)
    return refuse(404, 'OVERRIDE_REQUEST_NOT_FOUND', 'there is no such override request of this participant');
  if (message.decision !== 'approve' && message.decision !== 'deny')
    return refuse(422, 'INVALID_DECISION', 'decision must be "approve" or "deny"');
  if (!message.approver_user_id) return refuse(422, 'INVALID_MESSAGE', SENDER_REQUIRED);
  if (request.requested_by_id === message.approver_user_id)
    return refuse(403, 'SELF_APPROVAL', 'who asked for an override does not decide it');
  const standing = await standingOf(bench.tx, message.approver_user_id, row);
  if (!mayApprove(standing, policy))
    return refuse(403, 'FORBIDDEN', 'the policy does not let this user decide overrides');
  const signature = signatureFor(request, message);
  if (
    (!signature || signature.proved_by === 'session') &&
    (await signaturesAskAgain(bench.tx, row.study_id, bench.signaturesAskAgain))
  )
    return refuse(401, 'REAUTHENTICATION_REQUIRED', 'the study asks for password or code with each decision');
  if (request.status !== 'pending' || request.expires_at <= facts.now)
    return refuse(409, 'NOT_PENDING', `the request is ${request.status === 'pending' ? 'expired' : request.status}`);
  const reason = message.reason?.trim() ? message.reason : null;
  if (message.decision === 'deny') {
    if (reason === null) return refuse(400, 'REASON_REQUIRED', 'a denial needs a reason');
    return deny(bench, request, { decided_by: message.approver_user_id, reason, sender, signature });
  }
  if (row.participant.status === 'withdrawn')
    return refuse(409, 'PARTICIPANT_WITHDRAWN', 'the participant has withdrawn: the anchor stays as it is');
  const judged = await judge(bench, request.new_enrollment_date, request.regenerate_schedule, request.requested_by_id);
  const { errors, warnings } = judged.judgement;
  if (errors.length > 0)
    return refuse(400, overrideRefusalCode(errors), errors.map((e) => e.message).join('; '), { errors, warnings });
  const stale = staleness(message.preview_hash, judged);
  if (stale) return stale;
  await settle(bench.tx, request.id, 'approved', { by: message.approver_user_id, reason, signature });
  const granted = await grant(
    bench,
    judged,
    sender,
    { reason: request.reason, requested_by: request.requested_by_id, approved_by: message.approver_user_id },
    {
      kind: 'decide_override',
      decision: 'approve',
      override_request_id: request.id,
      new_enrollment_date: judged.date,
      regenerate_schedule: judged.regenerate,
      requested_by: request.requested_by_id,
    },
  );
  return { ...granted, override_request_id: request.id };
}

async function deny(
  bench: Bench,
  request: RequestRow,
  by: { decided_by: string | null; reason: string; sender: Sender; signature?: Signature | undefined },
): Promise<Carried> {
  await settle(bench.tx, request.id, 'denied', { by: by.decided_by, reason: by.reason, signature: by.signature });
  await writeOutcomes(bench.tx, bench.audit, bench.case.row.study_id, [
    {
      case: bench.case,
      transitions: [standStill(bench.case.facts.anchor, 'OVERRIDE_DENIED')],
      trace: { sources: [], validation: [], prerequisites: [] },
      sender: by.sender,
      reason: by.reason,
      denialReason: by.reason,
      approver: by.decided_by,
      command: {
        kind: 'decide_override',
        decision: 'deny',
        override_request_id: request.id,
        new_enrollment_date: request.new_enrollment_date,
      },
    },
  ]);
  return { result: 'denied', errors: [], warnings: [], override_request_id: request.id };
}

async function pendingRequest(bench: Bench): Promise<RequestRow | undefined> {
  return bench
    .tx('override_requests')
    .where({ participant_id: bench.case.row.participant_id, status: 'pending' })
    .forUpdate()
    .first();
}

/** The deadline passed, or the participant left: the request is denied with its reason. */
export async function expireOverride(bench: Bench): Promise<Carried> {
  const request = await pendingRequest(bench);
  const withdrawn = bench.case.row.participant.status === 'withdrawn';
  if (!request || (!withdrawn && request.expires_at > bench.case.facts.now))
    return { result: 'unchanged', errors: [], warnings: [] };
  return deny(bench, request, {
    decided_by: null,
    reason: withdrawn ? 'withdrawn' : 'expired',
    sender: { actor_type: 'system' },
  });
}

/** Half of the time is over: the approvers are reminded once. */
export async function remindApprovers(bench: Bench): Promise<Carried> {
  const request = await pendingRequest(bench);
  if (request) {
    await execute(
      bench.tx,
      'update override_requests set reminded_at = clock_timestamp() where id = $1 and reminded_at is null',
      [request.id],
    );
    await tellApprovers(bench, request.id, request.requested_by_id, 'reminded');
  }
  return { result: 'unchanged', errors: [], warnings: [] };
}

/**
 * One message to each who may decide, but the one who asked. Who is assigned to sites decides for their participants
 * alone (`standingOf`), and is told of no other's.
 */
async function tellApprovers(
  bench: Bench,
  requestId: string,
  requestedBy: string,
  occasion: 'asked' | 'reminded',
): Promise<void> {
  const { row, policy } = bench.case;
  const rows = await query<{ id: string }>(
    bench.tx,
    `insert into notifications (study_id, participant_id, user_id, subject_id, kind, channel, dedupe_key)
     select $1, $2, u.id, $3, 'override_pending', 'email', 'override:' || $4 || ':' || $5 || ':' || u.id
     from users u where u.status = 'active' and u.role = any($6) and u.id <> $7
       and (u.role = 'admin' or exists (select from user_studies s where s.user_id = u.id and s.study_id = $8))
       and (u.role not in ('coordinator', 'investigator') or not exists (select from user_sites x join sites i on i.id = x.site_id where x.user_id = u.id and i.study_id = $9)
         or exists (select from user_sites x where x.user_id = u.id and x.site_id = $10))
     on conflict (dedupe_key) where dedupe_key is not null do nothing returning id`,
    [
      row.study_id,
      row.participant_id,
      requestId,
      requestId,
      occasion,
      approverRoles(policy),
      requestedBy,
      row.study_id,
      row.study_id,
      row.site_id,
    ],
  );
  await putOutbox(
    bench.tx,
    rows.map((n) => ({ topic: 'notification', studyId: row.study_id, subject: n.id })),
  );
}
