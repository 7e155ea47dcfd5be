/** Messages to a participant's workflow that may claim a person. */
export type MessageKind =
  | 'set'
  | 'override'
  | 'override_back'
  | 'cancel'
  | 'decide_override'
  | 'evaluate'
  | 'sources_changed'
  | 'withdrawn'
  | 'reinstated';

/** The fields of a message that define its command; the others describe its sender and request. */
const FIELDS: Readonly<Record<MessageKind, readonly string[]>> = {
  set: ['enrollment_date', 'reason', 'expected_version'],
  override: ['new_enrollment_date', 'reason', 'regenerate_schedule', 'preview_hash', 'expected_version'],
  override_back: ['reason', 'expected_version'],
  cancel: ['reason', 'expected_version'],
  decide_override: ['request_id', 'decision', 'reason', 'preview_hash'],
  evaluate: ['reason', 'ensure_schedule'],
  sources_changed: [],
  withdrawn: [],
  reinstated: [],
};

/** The content that an authorization is bound to. A null field equals a missing one. */
export function contentOf(kind: MessageKind, message: object): Record<string, unknown> {
  const fields = message as Record<string, unknown>;
  return Object.fromEntries(
    FIELDS[kind].flatMap((name) => (fields[name] === undefined || fields[name] === null ? [] : [[name, fields[name]]])),
  );
}

/** The claimed sender of a message; null: no person. */
export type Person = { user_id: string } | { participant: true; caregiver_id: string | null };

/** The person that a message claims. A decision's sender is `actor_user_id`, or its former name. */
export function personOf(kind: string, message: object): Person | null {
  const { actor_type, actor_user_id, approver_user_id, caregiver_id } = message as Record<string, string | null>;
  if (actor_type === 'participant') return { participant: true, caregiver_id: caregiver_id ?? null };
  const user = kind === 'decide_override' ? (approver_user_id ?? actor_user_id) : actor_user_id;
  return user ? { user_id: user } : null;
}
