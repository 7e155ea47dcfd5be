import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';

const { Payload: Wire } = proto.temporal.api.common.v1;
/** As the codec of Temporal's own examples writes it: other SDKs and codec servers read it. */
const ENCODING = 'binary/encrypted';
const IV_BYTES = 12;
const text = (value: string) => new TextEncoder().encode(value);
const words = (value: Uint8Array | null | undefined) => new TextDecoder().decode(value ?? new Uint8Array());

/**
 * Keys by which payloads are sealed (`current`) and opened (all). Without a current one they are written in the open.
 */
export interface PayloadKeys {
  current: Uint8Array | undefined;
  former: readonly Uint8Array[];
}
interface Key {
  id: string;
  key: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
}

/** Says which key a payload needs, and nothing of the key. */
export async function payloadKeyId(key: Uint8Array): Promise<string> {
  const digest = new Uint8Array(
    await crypto.subtle.digest('SHA-256', new Uint8Array([...text('payload-key-id\0'), ...key])),
  );
  return [...digest.slice(0, 6)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const imported = async (key: Uint8Array): Promise<Key> => ({
  id: await payloadKeyId(key),
  key: await crypto.subtle.importKey('raw', new Uint8Array(key), 'AES-GCM', false, ['encrypt', 'decrypt']),
});

/**
 * Payloads as Temporal stores them: arguments, results, details, memos, failures' words, sealed with AES-256-GCM under
 * a key whose id stands beside. What was written in the open before is read as it is, so that a key may be set at any
 * time.
 */
export class EncryptionCodec implements PayloadCodec {
  private readonly current: Promise<Key> | undefined;
  private readonly keys: Promise<Map<string, Key>>;

  constructor({ current, former }: PayloadKeys) {
    this.current = current && imported(current);
    this.keys = Promise.all([...(this.current ? [this.current] : []), ...former.map(imported)]).then(
      (all) => new Map(all.map((key) => [key.id, key])),
    );
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    if (!this.current) return payloads;
    const { id, key } = await this.current;
    return Promise.all(
      payloads.map(async (payload) => {
        const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
        const sealed = await crypto.subtle.encrypt(
          { name: 'AES-GCM', iv },
          key,
          new Uint8Array(Wire.encode(payload).finish()),
        );
        return {
          metadata: { encoding: text(ENCODING), 'encryption-key-id': text(id) },
          data: new Uint8Array([...iv, ...new Uint8Array(sealed)]),
        };
      }),
    );
  }

  /** @throws Error naming the key that is missing, or that the payload was changed */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return Promise.all(
      payloads.map((payload) => (words(payload.metadata?.encoding) === ENCODING ? this.opened(payload) : payload)),
    );
  }

  private async opened({ metadata, data }: Payload): Promise<Payload> {
    const id = words(metadata?.['encryption-key-id']);
    const known = (await this.keys).get(id);
    if (!known || !data)
      throw new Error(
        `A payload was encrypted with the key ${id}, which is neither TEMPORAL_PAYLOAD_KEY nor one of TEMPORAL_PAYLOAD_FORMER_KEYS.`,
      );
    try {
      const plain = await crypto.subtle.decrypt(
        { name: 'AES-GCM', iv: new Uint8Array(data.subarray(0, IV_BYTES)) },
        known.key,
        new Uint8Array(data.subarray(IV_BYTES)),
      );
      return Wire.decode(new Uint8Array(plain)) as Payload;
    } catch (cause) {
      throw new Error(`A payload that was encrypted with the key ${id} was changed since.`, { cause });
    }
  }
}

/**
 * How client and worker write payloads under these keys; undefined where there are none: as Temporal does by itself.
 */
export function dataConverterOf(keys: PayloadKeys): DataConverter | undefined {
  if (!keys.current && keys.former.length === 0) return undefined;
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return {
    payloadCodecs: [new EncryptionCodec(keys)],
    // Not by node:url: nothing of Node may be named in this folder.
    ...(keys.current && {
      failureConverterPath: decodeURIComponent(new URL(`./failure-converter${extension}`, import.meta.url).pathname),
    }),
  };
}
