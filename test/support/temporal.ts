import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { ClientOptions } from '@temporalio/client';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { readIfThere } from '../../scripts/runtime/files.js';
import { encryptionKeyBytes } from '../../settings.js';
import { EncryptionCodec, dataConverterOf } from '../../workflows/util/payload-codec.js';
import type { RunJson } from './service.js';

export interface TemporalAccess {
  client: Client;
  connection: Connection;
  close: () => Promise<void>;
}

/** The key that the service has made for itself; empty: it was given another one. */
export const payloadKeyOf = ({ data_dir }: Pick<RunJson, 'data_dir'>): string =>
  readIfThere(join(data_dir, 'keys', 'TEMPORAL_PAYLOAD_KEY'))?.trim() ?? '';

/**
 * As an operator's CLI with a codec: reads what the service has sealed, and sends in the open.
 * @param key that of the service, where it was given one
 */
export const readingSealed = (
  run: Pick<RunJson, 'data_dir'>,
  key = payloadKeyOf(run),
): { dataConverter: DataConverter } | undefined => {
  const known = encryptionKeyBytes(key);
  return known && { dataConverter: dataConverterOf({ current: undefined, former: [known] })! };
};

/** Every payload within a value, such as a history. */
export function payloadsIn(value: unknown, seen = new Set<object>()): Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || seen.has(value)) return [];
  seen.add(value);
  const { metadata, data } = value as Payload;
  if (metadata?.encoding instanceof Uint8Array && data instanceof Uint8Array) return [value as Payload];
  return Object.values(value).flatMap((item) => payloadsIn(item, seen));
}

/** Opens what the service seals with the key that it has made for itself. */
export const codecOf = (run: Pick<RunJson, 'data_dir'>): PayloadCodec =>
  new EncryptionCodec({ current: encryptionKeyBytes(payloadKeyOf(run)), former: [] });

/** Opens the payloads of a history where they stand. */
export async function opened<History extends object>(history: History, codec: PayloadCodec): Promise<History> {
  const payloads = payloadsIn(history);
  const plain = await codec.decode(payloads);
  payloads.forEach((payload, i) => Object.assign(payload, plain[i]));
  return history;
}

/** A Temporal client that is not the service's, as an operator's would be. */
export async function temporalOf(
  run: RunJson,
  options: Pick<ClientOptions, 'dataConverter'> = readingSealed(run) ?? {},
): Promise<TemporalAccess> {
  const connection = await Connection.connect({ address: run.temporal });
  return {
    client: new Client({ connection, namespace: run.temporal_namespace, ...options }),
    connection,
    close: () => connection.close(),
  };
}
