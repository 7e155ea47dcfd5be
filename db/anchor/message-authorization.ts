import { SignJWT, decodeProtectedHeader, errors, importSPKI, jwtVerify } from 'jose';
import type { KeyObject } from 'node:crypto';
import { keyPairOf } from '../audit/audit-signing.js';
import { hashOf } from '../audit/hashing.js';

/** What an authorization states: who may have which message with which content carried out for which participant. */
export interface Authorization {
  participant_id: string;
  study_id: string;
  /** Of message. */
  kind: string;
  /** SHA-256 of the canonical JSON of the message's content, hex. */
  digest: string;
  /** In whose name. */
  person: Readonly<Record<string, unknown>>;
  /** How the API itself sends it; null: it was given out, and comes by whatever way its holder chooses. */
  via: 'rest' | 'page' | null;
  /** Each is carried out once. */
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

  /** @param now epoch milliseconds @param seconds how long it is good for */
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

/**
 * What a token states, where it bears the signature of a known key and its time has not run out.
 * @param keyOf the public key (PEM) of a key id; undefined: it is not known, or not any more @param now ISO 8601
 */
export async function readAuthorization(
  token: string,
  keyOf: (keyId: string) => Promise<string | undefined>,
  now: string,
): Promise<Authorization | AuthorizationFault> {
  try {
    const { kid, alg } = decodeProtectedHeader(token);
    if (alg !== ALGORITHM || kid === undefined) return 'INVALID';
    const publicKey = await keyOf(kid);
    if (publicKey === undefined) return 'UNKNOWN_KEY';
    const { payload } = await jwtVerify<Authorization>(token, await importSPKI(publicKey, ALGORITHM), {
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
