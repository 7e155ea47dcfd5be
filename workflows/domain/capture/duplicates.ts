export interface DuplicateFacts {
  /** An earlier trigger with the same bytes, processed within WEBHOOK_DEDUPE_HOURS; null when there is none. */
  earlierEventId: string | null;
  /** What the record holds now, and what it held when it was last read. */
  contentHash: string;
  lastContentHash: string | null;
  /** The participant may have been removed since: then the trigger is to make it again. */
  participantExists: boolean;
}

/**
 * The trigger that this one repeats, or null (decisions, section 6): the same bytes while the record has not changed
 * since it was last read. A second save of a form sends the same bytes with other data behind them, and is not lost.
 */
export function duplicateOf(facts: DuplicateFacts): string | null {
  const unchanged = facts.lastContentHash !== null && facts.lastContentHash === facts.contentHash;
  return unchanged && facts.participantExists ? facts.earlierEventId : null;
}
