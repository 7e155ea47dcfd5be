import type { Connection } from '@temporalio/client';
import type { Logger } from 'pino';

/**
 * The search attributes of a Temporal namespace. A server of an earlier release lacks the new ones, and one that does
 * not answer counts as having none: unknown attributes are not set, since they would fail each task.
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
