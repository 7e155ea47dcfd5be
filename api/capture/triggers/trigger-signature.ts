import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { nowMs } from '../../../db/client/clock.js';

/** Allowed clock difference of the sender, seconds. */
const TOLERANCE = 300;

export interface SignedRequest {
  raw: Buffer;
  headers: IncomingHttpHeaders;
  /** `?signature=` */
  urlSignature: string | undefined;
  projectId: string;
}

/**
 * Whether a trigger is signed with the secret: in the header `sha256=<hex HMAC-SHA256 of the raw body>`, over
 * `<timestamp>.<raw body>` if a timestamp is sent, which must be within five minutes; or, only if the configuration
 * says `url`, in the URL over `det:<project id>`.
 */
export function hasValidSignature(
  request: SignedRequest,
  secret: string,
  auth: 'header' | 'url',
  now = nowMs(),
): boolean {
  const header = request.headers['x-datacapture-signature'];
  if (header !== undefined) return headerFits(request, typeof header === 'string' ? header : '', secret, now);
  if (auth !== 'url' || request.urlSignature === undefined) return false;
  return equal(request.urlSignature, createHmac('sha256', secret).update(`det:${request.projectId}`).digest());
}

function headerFits({ raw, headers }: SignedRequest, signature: string, secret: string, now: number): boolean {
  if (!signature.startsWith('sha256=')) return false;
  const hmac = createHmac('sha256', secret);
  const timestamp = headers['x-datacapture-timestamp'];
  if (timestamp !== undefined) {
    if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false;
    if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE) return false;
    hmac.update(`${timestamp}.`);
  }
  return equal(signature.slice('sha256='.length), hmac.update(raw).digest());
}

/** In constant time; text that is not 64 hex digits can't match, and its length is no secret. */
function equal(hex: string, digest: Buffer): boolean {
  return /^[0-9a-f]{64}$/i.test(hex) && timingSafeEqual(Buffer.from(hex, 'hex'), digest);
}
