import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { ANSWERS_OPEN, CAME_OPEN } from './came-open.js';

const { Payload: Wire } = proto.temporal.api.common.v1;
/** The encoding of Temporal's own examples: other SDKs and codec servers support it. */
const ENCODING = 'binary/encrypted';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const text = (value: string) => new TextEncoder().encode(value);
const words = (value: Uint8Array | null | undefined) => new TextDecoder().decode(value ?? new Uint8Array());

/** Keys for encrypting (`current`) and decrypting (all) payloads. Without a current one payloads are unencrypted. */
export interface PayloadKeys {
  current: Uint8Array | undefined;
  former: readonly Uint8Array[];
}
/** For a worker: whether it accepts unencrypted messages, and answers them unencrypted (TEMPORAL_PAYLOADS). */
export type WorkerPayloads = 'open' | 'sealed';
interface Key {
  id: string;
  key: KeyObject;
}

/** Identifies the key of a payload, without revealing it. */
export const payloadKeyId = (key: Uint8Array): string =>
  createHash('sha256').update('payload-key-id\0').update(key).digest('hex').slice(0, 12);

const imported = (key: Uint8Array): Key => ({ id: payloadKeyId(key), key: createSecretKey(key) });

/** Without the mark of an unencrypted answer; the same object if there is none. */
function unmarked(payload: Payload): Payload {
  if (!payload.metadata?.[ANSWERS_OPEN]) return payload;
  const { [ANSWERS_OPEN]: _mark, ...metadata } = payload.metadata;
  return { ...payload, metadata };
}

/**
 * Encrypts payloads as Temporal stores them: arguments, results, details, memos, failure messages, with AES-256-GCM
 * under a key whose id is stored beside. Older unencrypted payloads are read as they are, so that a key can be set at
 * any time.
 *
 * Encryption is synchronous on the calling thread: Web Crypto hands every payload, of a few hundred bytes, to another
 * thread and back, which took a tenth of the worker's processor time of a decision.
 */
export class EncryptionCodec implements PayloadCodec {
  private readonly current: Key | undefined;
  private readonly keys: ReadonlyMap<string, Key>;

  /** @param ofWorker marks unencrypted values for the receiving workflow (came-open.ts) */
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

  /** @throws Error naming the missing key, or that the payload was changed */
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
        `A payload was encrypted with the key ${id}, which is neither TEMPORAL_PAYLOAD_KEY nor one of ` +
          'TEMPORAL_PAYLOAD_FORMER_KEYS.',
      );
    try {
      const tag = data.length - TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, known.key, data.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(data.subarray(tag));
      const plain = Buffer.concat([decipher.update(data.subarray(IV_BYTES, tag)), decipher.final()]);
      // A copy: a buffer is a part of a larger one, all of which a message to a workflow's thread would copy.
      return Wire.decode(new Uint8Array(plain)) as Payload;
    } catch (cause) {
      throw new Error(`A payload that was encrypted with the key ${id} was changed since.`, { cause });
    }
  }
}

/** The payload's bytes as iv, ciphertext, tag. */
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
 * The data converter of client and worker with these keys; undefined without keys: Temporal's default.
 * @param ofWorker its workflows learn which payloads were unencrypted
 */
export function dataConverterOf(keys: PayloadKeys, ofWorker?: WorkerPayloads): DataConverter | undefined {
  if (!keys.current && keys.former.length === 0) return undefined;
  return {
    payloadCodecs: [new EncryptionCodec(keys, ofWorker)],
    ...(ofWorker && { payloadConverterPath: beside('payload-converter') }),
    ...(keys.current && { failureConverterPath: beside('failure-converter') }),
  };
}
