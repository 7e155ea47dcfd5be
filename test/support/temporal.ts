import { Client, Connection } from '@temporalio/client';
import type { ClientOptions } from '@temporalio/client';
import type { RunJson } from './service.js';

export interface TemporalAccess {
  client: Client;
  connection: Connection;
  close: () => Promise<void>;
}

/** A Temporal client that is not the service's, as an operator's would be. */
export async function temporalOf(
  run: RunJson,
  options: Pick<ClientOptions, 'dataConverter'> = {},
): Promise<TemporalAccess> {
  const connection = await Connection.connect({ address: run.temporal });
  return {
    client: new Client({ connection, namespace: run.temporal_namespace, ...options }),
    connection,
    close: () => connection.close(),
  };
}
