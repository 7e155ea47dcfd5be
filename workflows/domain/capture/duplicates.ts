export interface DuplicateFacts {
  /** An earlier trigger with the same bytes, processed within WEBHOOK_DEDUPE_HOURS; null when there is none. */
  earlierEventId: string | null;
  /** The record holds what it held when it was last read. */
  unchanged: boolean;
  /** The participant may have been removed since: then the trigger is to make it again. */
  participantExists: boolean;
}

/**
 * The trigger that this one repeats, or null (decisions, section 6): the same bytes while the record has not changed
 * since it was last read. A second save of a form sends the same bytes with other data behind them, and is not lost.
 */
export function duplicateOf(facts: DuplicateFacts): string | null {
  return facts.unchanged && facts.participantExists ? facts.earlierEventId : null;
}

/** Hashes of a reading: of everything that the record shows, and of what the service takes from it. */
export interface ReadingHashes {
  content_hash: string | null;
  reading_hash: string | null;
}

/** So many digits of a content hash say what was asked for. */
export const MANUAL_RETRY = 8;

/**
 * Whether a record holds what it held when it was last read. A sync reads no more than the service takes, and a trigger
 * of one event no more than that event: where the last reading asked for something else, only what the service takes
 * can be compared.
 */
export function isUnchanged(before: ReadingHashes, now: { content_hash: string; reading_hash: string }): boolean {
  const comparable = before.content_hash?.slice(0, MANUAL_RETRY) === now.content_hash.slice(0, MANUAL_RETRY);
  return comparable ? before.content_hash === now.content_hash : before.reading_hash === now.reading_hash;
}
