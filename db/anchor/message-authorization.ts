import { SignJWT, decodeJwt, decodeProtectedHeader, errors, importSPKI, jwtVerify } from 'jose';
import type { KeyObject } from 'node:crypto';
import { keyPairOf } from '../audit/audit-signing.js';
import { hashOf } from '../audit/hashing.js';

/** What an authorization states: which person sends which message, with which content, for which participant. */
export interface Authorization {
  participant_id: string;
  study_id: string;
  /** Kind of message. */
  kind: string;
  /** SHA-256 of the canonical JSON of the message's content, hex. */
  digest: string;
  /** The person who authorizes it. */
  person: Readonly<Record<string, unknown>>;
  /** How the API itself sends it; null: it was handed to a client, which may send it by any route. */
  via: 'rest' | 'page' | null;
  /** Unique id: each authorization is used once. */
  jti: string;
}

export const digestOf = (content: Record<string, unknown>): string => hashOf(content);

const AUDIENCE = 'participant-anchor';
const ALGORITHM = 'EdDSA';

/** Signs authorizations with the Ed25519 key whose seed is derived (HKDF-SHA-256) from a secret. */
export class AuthorizationSigner {
  readonly keyId: string;
  readonly publicKey: string;
  private readonly key: KeyObject;

  constructor(secret: string) {
    const { key, keyId, publicKey } = keyPairOf(secret, 'research-assessment message authorizations');
    [this.key, this.keyId, this.publicKey] = [key, keyId, publicKey];
  }

  /** @param now epoch milliseconds @param seconds lifetime */
  sign({ jti, ...stated }: Authorization, now: number, seconds: number): Promise<string> {
    const issued = Math.floor(now / 1000);
    return new SignJWT({ ...stated })
      .setProtectedHeader({ alg: ALGORITHM, kid: this.keyId, typ: 'authorization+jwt' })
      .setAudience(AUDIENCE)
      .setJti(jti)
      .setIssuedAt(issued)
      .setExpirationTime(issued + seconds)
      .sign(this.key);
  }
}

export type AuthorizationFault = 'INVALID' | 'UNKNOWN_KEY' | 'EXPIRED';

/** The claims of a token, before anything is verified. */
export interface ClaimedAuthorization {
  keyId: string;
  jti: string;
}
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The key and the id that a token claims; null: `AuthorizationSigner` did not make it. */
export function claimedAuthorization(token: string): ClaimedAuthorization | null {
  try {
    const { kid, alg } = decodeProtectedHeader(token);
    const { jti } = decodeJwt(token);
    return alg === ALGORITHM && kid !== undefined && jti !== undefined && UUID.test(jti) ? { keyId: kid, jti } : null;
  } catch (fault) {
    if (fault instanceof errors.JOSEError || fault instanceof TypeError) return null;
    throw fault;
  }
}

type PublicKey = Awaited<ReturnType<typeof importSPKI>>;
/** Imported keys by PEM: the same one or two are used by every message, and importing takes as long as verifying. */
const importedKeys = new Map<string, PublicKey>();
const MAX_KEYS = 10;

async function importedKey(pem: string): Promise<PublicKey> {
  let key = importedKeys.get(pem);
  if (!key) {
    key = await importSPKI(pem, ALGORITHM);
    if (importedKeys.size >= MAX_KEYS) importedKeys.clear();
    importedKeys.set(pem, key);
  }
  return key;
}

/**
 * What a token states, if a known key signed it and it has not expired.
 * @param publicKey PEM of the key that it claims; null: unknown or expired @param now ISO 8601
 */
export async function readAuthorization(
  token: string,
  publicKey: string | null,
  now: string,
): Promise<Authorization | AuthorizationFault> {
  if (claimedAuthorization(token) === null) return 'INVALID';
  if (publicKey === null) return 'UNKNOWN_KEY';
  try {
    const { payload } = await jwtVerify<Authorization>(token, await importedKey(publicKey), {
      algorithms: [ALGORITHM],
      audience: AUDIENCE,
      currentDate: new Date(now),
      requiredClaims: ['jti', 'exp', 'participant_id', 'study_id', 'kind', 'digest', 'person'],
    });
    return payload;
  } catch (fault) {
    if (fault instanceof errors.JWTExpired) return 'EXPIRED';
    if (fault instanceof errors.JOSEError || fault instanceof TypeError) return 'INVALID';
    throw fault;
  }
}
