import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { temporalTls } from '../../../settings.js';
import { searchAttributes } from '../../../workflows/search-attributes.js';

const GRPC_NOT_FOUND = 5;
/** INDEXED_VALUE_TYPE_KEYWORD, _DATETIME and _KEYWORD_LIST of the server's API. */
const KINDS = { Keyword: 2, Datetime: 6, KeywordList: 7 } as const;

/** The address of an external Temporal server, and its TLS. */
export type TemporalPlace = { address: string } & ReturnType<typeof temporalTls>;

/** @throws Error when no Temporal server answers there; nothing is created. */
export async function askTemporal(place: TemporalPlace): Promise<void> {
  await (await Connection.connect({ ...place, connectTimeout: 5000 })).close();
}

/** Prepares an external Temporal server: creates the namespace and the search attributes. */
export async function ensureNamespace({
  namespace,
  retentionDays,
  ...place
}: TemporalPlace & {
  namespace: string;
  retentionDays: number;
}): Promise<void> {
  const connection = await Connection.connect({ ...place, connectTimeout: 5000 });
  try {
    await connection.withDeadline(Date.now() + 40_000, async () => {
      if (!(await isThere(connection, namespace))) {
        await connection.workflowService.registerNamespace({
          namespace,
          workflowExecutionRetentionPeriod: msToTs(`${retentionDays} days`),
        });
      }
      const customAttributes = await registeredAttributes(connection, namespace);
      const missing = Object.entries(searchAttributes).filter(([name]) => !(name in customAttributes));
      if (missing.length > 0) {
        await connection.operatorService.addSearchAttributes({
          namespace,
          searchAttributes: Object.fromEntries(missing.map(([name, kind]) => [name, KINDS[kind]])),
        });
      }
    });
  } finally {
    await connection.close();
  }
}

/** A new namespace is known to every part of the server only after some seconds. */
async function registeredAttributes(connection: Connection, namespace: string): Promise<Record<string, unknown>> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return (await connection.operatorService.listSearchAttributes({ namespace })).customAttributes;
    } catch (fault) {
      if (!isNotFound(fault) || attempt === 30) throw fault;
      await sleep(1000);
    }
  }
}

const isNotFound = (fault: unknown) => fault instanceof Error && 'code' in fault && fault.code === GRPC_NOT_FOUND;

async function isThere(connection: Connection, namespace: string): Promise<boolean> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
    return true;
  } catch (fault) {
    if (isNotFound(fault)) return false;
    throw fault;
  }
}
