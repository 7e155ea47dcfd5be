import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { ANSWERS_OPEN, CAME_OPEN } from './came-open.js';

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
/** Of a worker: whether it takes messages in the open, and answers them so, or neither (TEMPORAL_PAYLOADS). */
export type WorkerPayloads = 'open' | 'sealed';
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

/** Without the mark of an answer in the open; the very same where there is none. */
function unmarked(payload: Payload): Payload {
  if (!payload.metadata?.[ANSWERS_OPEN]) return payload;
  const { [ANSWERS_OPEN]: _mark, ...metadata } = payload.metadata;
  return { ...payload, metadata };
}

/**
 * Payloads as Temporal stores them: arguments, results, details, memos, failures' words, sealed with AES-256-GCM under
 * a key whose id stands beside. What was written in the open before is read as it is, so that a key may be set at any
 * time.
 */
export class EncryptionCodec implements PayloadCodec {
  private readonly current: Promise<Key> | undefined;
  private readonly keys: Promise<Map<string, Key>>;

  /** @param ofWorker what was not sealed is marked so, for the workflow that it reaches (came-open.ts) */
  constructor(
    { current, former }: PayloadKeys,
    private readonly ofWorker?: WorkerPayloads,
  ) {
    this.current = current && imported(current);
    this.keys = Promise.all([...(this.current ? [this.current] : []), ...former.map(imported)]).then(
      (all) => new Map(all.map((key) => [key.id, key])),
    );
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    if (!this.current) return payloads.map(unmarked);
    const { id, key } = await this.current;
    return Promise.all(
      payloads.map(async (given) => {
        const payload = unmarked(given);
        if (payload !== given && this.ofWorker === 'open') return payload;
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
      payloads.map((payload) =>
        words(payload.metadata?.encoding) === ENCODING ? this.opened(payload) : this.marked(payload),
      ),
    );
  }

  private marked(payload: Payload): Payload {
    return this.ofWorker ? { ...payload, metadata: { ...payload.metadata, [CAME_OPEN]: text('true') } } : payload;
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

// Not by node:url: nothing of Node may be named in this folder.
const beside = (name: string): string => {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return decodeURIComponent(new URL(`./${name}${extension}`, import.meta.url).pathname);
};

/**
 * How client and worker write payloads under these keys; undefined where there are none: as Temporal does by itself.
 * @param ofWorker its workflows are told what was not sealed
 */
export function dataConverterOf(keys: PayloadKeys, ofWorker?: WorkerPayloads): DataConverter | undefined {
  if (!keys.current && keys.former.length === 0) return undefined;
  return {
    payloadCodecs: [new EncryptionCodec(keys, ofWorker)],
    ...(ofWorker && { payloadConverterPath: beside('payload-converter') }),
    ...(keys.current && { failureConverterPath: beside('failure-converter') }),
  };
}
