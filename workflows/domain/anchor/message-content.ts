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

/** What of a message says what is to be done; the rest says who sends it, and by what request. */
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

/** The content that an authorization is bound to. A field that is null is as one that is not there. */
export function contentOf(kind: MessageKind, message: object): Record<string, unknown> {
  const fields = message as Record<string, unknown>;
  return Object.fromEntries(
    FIELDS[kind].flatMap((name) => (fields[name] === undefined || fields[name] === null ? [] : [[name, fields[name]]])),
  );
}

/** Whom a message claims to come from; null: from no person. */
export type Person = { user_id: string } | { participant: true; caregiver_id: string | null };

/** The person that a message claims. A decision has its sender as `actor_user_id` or under its former name. */
export function personOf(kind: string, message: object): Person | null {
  const { actor_type, actor_user_id, approver_user_id, caregiver_id } = message as Record<string, string | null>;
  if (actor_type === 'participant') return { participant: true, caregiver_id: caregiver_id ?? null };
  const user = kind === 'decide_override' ? (approver_user_id ?? actor_user_id) : actor_user_id;
  return user ? { user_id: user } : null;
}
