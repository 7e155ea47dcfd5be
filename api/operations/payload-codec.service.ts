import type { Payload, PayloadCodec } from '@temporalio/common';

/** Payloads as Temporal’s codec protocol writes them: JSON, bytes as base64. */
export interface SentPayloads {
  payloads: { metadata?: Record<string, string>; data?: string }[];
}

export type CodecWork = 'decode' | 'encode';

/**
 * Decrypts or encrypts payloads sent by a Temporal UI or CLI.
 * @throws Error in one sentence: the body is invalid, or a payload cannot be decrypted
 */
export async function throughCodec(codec: PayloadCodec, work: CodecWork, body: string): Promise<SentPayloads> {
  return written(await codec[work](read(sentIn(body))));
}

function sentIn(body: string): SentPayloads {
  // The CLI omits an empty list.
  const payloads = parsed(body)?.payloads ?? [];
  if (!Array.isArray(payloads) || !payloads.every(isSent))
    throw new Error('The body must be {"payloads": [{"metadata": {name: base64}, "data": base64}]}.');
  return { payloads };
}

function parsed(body: string): { payloads?: unknown } | null {
  try {
    return JSON.parse(body) as { payloads?: unknown } | null;
  } catch (cause) {
    throw new Error('The body is no JSON.', { cause });
  }
}

const isText = (value: unknown): boolean => value === undefined || value === null || typeof value === 'string';
function isSent(payload: unknown): payload is SentPayloads['payloads'][number] {
  if (typeof payload !== 'object' || payload === null) return false;
  const { metadata, data } = payload as { metadata?: unknown; data?: unknown };
  const named = metadata ?? {};
  return typeof named === 'object' && Object.values(named).every(isText) && isText(data);
}

const read = ({ payloads }: SentPayloads): Payload[] =>
  payloads.map(({ metadata, data }) => ({
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value ?? '', 'base64')]),
    ),
    data: Buffer.from(data ?? '', 'base64'),
  }));

const written = (payloads: Payload[]): SentPayloads => ({
  payloads: payloads.map(({ metadata, data }) => ({
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
    ),
    data: Buffer.from(data ?? []).toString('base64'),
  })),
});
