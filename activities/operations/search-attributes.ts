import type { Connection } from '@temporalio/client';
import type { Logger } from 'pino';

/**
 * The search attributes that a Temporal namespace has. A server of before this release lacks the new ones, and one that
 * does not tell is taken to have none: what is not known is not set, for it would fail each task.
 */
export async function registeredAttributes(
  connection: Connection,
  namespace: string,
  log: Logger,
): Promise<ReadonlySet<string>> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return new Set(Object.keys(customAttributes ?? {}));
  } catch (fault) {
    log.warn({ fault: fault instanceof Error ? fault.name : 'fault' }, 'the search attributes could not be read');
    return new Set();
  }
}
