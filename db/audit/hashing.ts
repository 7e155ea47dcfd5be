import { createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';

/** SHA-256 of a value's canonical JSON, hex. */
export const hashOf = (value: unknown): string => hash('sha256', canonicalJson(value), 'hex');

/**
 * The stable key of a visit across schedule versions: from the participant and the visit's identity, never its date.
 */
export function visitKey(participantId: string, identity: string): string {
  const hex = hash('sha256', `visit ${participantId} ${identity}`, 'hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join('-');
}

const keys = new Map<string, KeyObject>();
/** Imports a secret of the settings as a signing key, once. */
export function secretKey(secret: string): KeyObject {
  let key = keys.get(secret);
  if (!key) keys.set(secret, (key = createSecretKey(Buffer.from(secret, 'utf8'))));
  return key;
}
