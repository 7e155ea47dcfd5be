import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { patched, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';

const outcome = defineSearchAttributeKey('Outcome', SearchAttributeType.KEYWORD);

/**
 * Says of a run that its work has failed for good. Such a run ends as completed, since the failure is recorded: the
 * details say why and what to do, and the search attribute `Outcome` finds it. Only ids and states go into the attribute.
 */
export function publishFailure(details: string): void {
  setCurrentDetails(details);
  if (patched('outcome')) upsertSearchAttributes([{ key: outcome, value: 'failed' }]);
}

/** Work that is tried again after all: it has no outcome yet. */
export function withdrawFailure(): void {
  if (patched('outcome')) upsertSearchAttributes([{ key: outcome, value: null }]);
}
