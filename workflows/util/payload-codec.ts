import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { ANSWERS_OPEN, CAME_OPEN } from './came-open.js';

const { Payload: Wire } = proto.temporal.api.common.v1;
/** As the codec of Temporal's own examples writes it: other SDKs and codec servers read it. */
const ENCODING = 'binary/encrypted';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
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
  key: KeyObject;
}

/** Says which key a payload needs, and nothing of the key. */
export const payloadKeyId = (key: Uint8Array): string =>
  createHash('sha256').update('payload-key-id\0').update(key).digest('hex').slice(0, 12);

const imported = (key: Uint8Array): Key => ({ id: payloadKeyId(key), key: createSecretKey(key) });

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
 *
 * Each payload is sealed at once, on the thread that asks: the ciphers of Web Crypto hand every payload, of a few
 * hundred bytes, to another thread and back, which took a tenth of the worker's processor time of a decision.
 */
export class EncryptionCodec implements PayloadCodec {
  private readonly current: Key | undefined;
  private readonly keys: ReadonlyMap<string, Key>;

  /** @param ofWorker what was not sealed is marked so, for the workflow that it reaches (came-open.ts) */
  constructor(
    { current, former }: PayloadKeys,
    private readonly ofWorker?: WorkerPayloads,
  ) {
    this.current = current && imported(current);
    this.keys = new Map(
      [...(this.current ? [this.current] : []), ...former.map(imported)].map((key) => [key.id, key] as const),
    );
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((input) => {
      const payload = unmarked(input);
      return !this.current || (payload !== input && this.ofWorker === 'open') ? payload : sealed(payload, this.current);
    });
  }

  /** @throws Error naming the key that is missing, or that the payload was changed */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) =>
      words(payload.metadata?.encoding) === ENCODING ? this.opened(payload) : this.marked(payload),
    );
  }

  private marked(payload: Payload): Payload {
    return this.ofWorker ? { ...payload, metadata: { ...payload.metadata, [CAME_OPEN]: text('true') } } : payload;
  }

  private opened({ metadata, data }: Payload): Payload {
    const id = words(metadata?.['encryption-key-id']);
    const known = this.keys.get(id);
    if (!known || !data)
      throw new Error(
        `A payload was encrypted with the key ${id}, which is neither TEMPORAL_PAYLOAD_KEY nor one of TEMPORAL_PAYLOAD_FORMER_KEYS.`,
      );
    try {
      const tag = data.length - TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, known.key, data.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(data.subarray(tag));
      const plain = Buffer.concat([decipher.update(data.subarray(IV_BYTES, tag)), decipher.final()]);
      // Bytes of its own: a buffer is a part of a larger one, all of which a message to a workflow's thread would copy.
      return Wire.decode(new Uint8Array(plain)) as Payload;
    } catch (cause) {
      throw new Error(`A payload that was encrypted with the key ${id} was changed since.`, { cause });
    }
  }
}

/** The payload's bytes as iv, cipher text, tag. */
function sealed(payload: Payload, { id, key }: Key): Payload {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  const data = Buffer.concat([iv, cipher.update(Wire.encode(payload).finish()), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: text(ENCODING), 'encryption-key-id': text(id) }, data };
}

const beside = (name: string): string => {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return fileURLToPath(new URL(`./${name}${extension}`, import.meta.url));
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
