export interface DuplicateFacts {
  /** An earlier trigger with the same bytes, processed within WEBHOOK_DEDUPE_HOURS; null: none. */
  earlierEventId: string | null;
  /** The record has the same content as when it was last read. */
  unchanged: boolean;
  /** The participant may have been deleted since: then the trigger creates it again. */
  participantExists: boolean;
}

/**
 * The trigger that this one repeats, or null: the same bytes, and an unchanged record since the last reading. A second
 * save of a form sends the same bytes with other data behind them, and is not lost.
 */
export function duplicateOf(facts: DuplicateFacts): string | null {
  return facts.unchanged && facts.participantExists ? facts.earlierEventId : null;
}

/** Hashes of a reading: of the whole record, and of the values that the service takes. */
export interface ReadingHashes {
  content_hash: string | null;
  reading_hash: string | null;
}

/** This many digits of a content hash identify the requested part. */
export const MANUAL_RETRY = 8;

/**
 * Whether a record has the same content as at the last reading. A sync only reads the fields that the service uses, and
 * a trigger of one event only that event: if the last reading requested another part, only the used values can be
 * compared.
 */
export function isUnchanged(before: ReadingHashes, now: { content_hash: string; reading_hash: string }): boolean {
  const comparable = before.content_hash?.slice(0, MANUAL_RETRY) === now.content_hash.slice(0, MANUAL_RETRY);
  return comparable ? before.content_hash === now.content_hash : before.reading_hash === now.reading_hash;
}
