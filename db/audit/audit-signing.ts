import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';

/** What a checkpoint states of a chain, and its signature. Times are ISO 8601, hashes hex. */
export interface Checkpoint {
  chain: string;
  /** Number of records, from the first. */
  rows: number;
  /** Hash of the last of them. */
  head: string;
  /** Root of the Merkle tree over their hashes (RFC 6962). */
  root: string;
  created_at: string;
  /**
   * `checkpointHash` of the chain's checkpoint before this one, null for the first, and how many records it covered.
   */
  previous: string | null;
  previous_rows: number;
  /**
   * The first eight bytes of the hash of each record since then, base64: shows which record was changed, not only that
   * one was.
   */
  witness: string;
  key_id: string;
  /** PEM. Included for convenience: a verifier brings a key that they trust. */
  public_key: string;
  /** Ed25519 over `signedText`, base64. */
  signature: string;
}

/** The signed text: canonical JSON of everything that a checkpoint states, the witness by its SHA-256. */
export function signedText({ signature: _signature, public_key: _key, witness, ...stated }: Checkpoint): string {
  return canonicalJson({
    ...stated,
    format: 1,
    witness_sha256: createHash('sha256').update(Buffer.from(witness, 'base64')).digest('hex'),
  });
}
export const checkpointHash = (checkpoint: Checkpoint): string =>
  createHash('sha256').update(signedText(checkpoint)).digest('hex');

export interface AuditSigner {
  keyId: string;
  publicKey: string;
  sign: (text: string) => string;
}

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The Ed25519 key whose seed is derived (HKDF-SHA-256) from a secret, a text of any form, for one purpose. */
export function keyPairOf(secret: string, purpose: string): { key: KeyObject; keyId: string; publicKey: string } {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ format: 'pem', type: 'spki' }).toString();
  return { key, keyId: keyIdOf(publicKey), publicKey };
}

/** The key that AUDIT_SIGNING_KEY gives. */
export function auditSigner(secret: string): AuditSigner {
  const { key, keyId, publicKey } = keyPairOf(secret, 'research-assessment audit checkpoints');
  return {
    keyId,
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
  };
}

/** The first 16 hex digits of the SHA-256 of the key as SPKI DER. */
export const keyIdOf = (pem: string): string =>
  createHash('sha256')
    .update(createPublicKey(pem).export({ format: 'der', type: 'spki' }))
    .digest('hex')
    .slice(0, 16);

/** Whether a checkpoint has a valid signature of the key that it names, among `keys` (PEM by key id). */
export function isSignatureValid(checkpoint: Checkpoint, keys: ReadonlyMap<string, string>): boolean {
  const key = keys.get(checkpoint.key_id);
  return (
    key !== undefined &&
    verify(null, Buffer.from(signedText(checkpoint)), createPublicKey(key), Buffer.from(checkpoint.signature, 'base64'))
  );
}
