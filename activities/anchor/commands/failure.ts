import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { StaleAnchor } from '../../../db/anchor/anchors.queries.js';
import { faultCode } from '../../../db/client/connection/driver-faults.js';

/**
 * A lost race with another writer, or an unavailable database, is retried; the text of a fault never contains row
 * values.
 */
export function asFailure(fault: unknown): ApplicationFailure {
  if (fault instanceof ApplicationFailure) return fault;
  const code = faultCode(fault) ?? (fault instanceof Error ? fault.constructor.name : 'Error');
  const expected = fault instanceof StaleAnchor || code === '23505' || code === '40P01' || code === '40001';
  if (!expected)
    log.warn('anchor command failed', {
      code,
      where:
        fault instanceof Error
          ? fault.stack
              ?.split('\n')
              .find((line) => line.includes('at '))
              ?.trim()
          : undefined,
    });
  // Content errors of the database (classes 22, 23, 42) recur every time.
  return ApplicationFailure.create({
    type: expected ? 'LostRace' : 'DatabaseFault',
    message: `the write was not made (${code})`,
    nonRetryable: !expected && /^(22|23|42)/.test(code),
  });
}
