import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { patched, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';

const outcome = defineSearchAttributeKey('Outcome', SearchAttributeType.KEYWORD);

/**
 * Marks a run whose work has failed permanently. Such a run ends as completed, since the failure is recorded: the
 * details have the reason and what to do, and the search attribute `Outcome` finds it. The attribute contains only ids
 * and states.
 */
export function publishFailure(details: string): void {
  setCurrentDetails(details);
  if (patched('outcome')) upsertSearchAttributes([{ key: outcome, value: 'failed' }]);
}

/** Removes the mark of work that is retried. */
export function withdrawFailure(): void {
  if (patched('outcome')) upsertSearchAttributes([{ key: outcome, value: null }]);
}
