import { createHmac, randomInt } from 'node:crypto';

const PREFIX = 'whsec_';

/** A message's signature by Standard Webhooks: HMAC-SHA256 over `id.timestamp.body` with the secret's bytes. */
export function webhookSignature(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** The signature headers for subscribers. During a secret's overlap there are two signatures; one of them is valid. */
export function signedHeaders(secrets: readonly string[], id: string, body: string, now: Date): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => webhookSignature(secret, id, timestamp, body)).join(' '),
  };
}

const MAX_SECONDS = 6 * 3600;

/**
 * Exponential back-off after this many failed attempts: doubled each time up to six hours, with a jitter of a fifth, so
 * that simultaneous failures do not retry together.
 */
export function backOff(initialSeconds: number, attempts: number): number {
  const plain = Math.min(initialSeconds * 2 ** Math.min(attempts, 30), MAX_SECONDS);
  return plain * (0.8 + randomInt(0, 4001) / 10_000);
}
