import { createHash, hkdfSync, randomUUID } from 'node:crypto';
import { nowMs } from '../../db/client/clock.js';
import { AuthorizationSigner, digestOf } from '../../db/anchor/message-authorization.js';
import { registerMessageKey } from '../../db/anchor/message-keys.queries.js';
import type { Settings } from '../../settings.js';
import { contentOf, personOf } from '../../workflows/domain/anchor/message-content.js';
import type { MessageKind } from '../../workflows/domain/anchor/message-content.js';
import { jwtSecret } from '../http/security/tokens.js';
import type { Database } from '../../db/client/database.js';

/** The API's own messages may wait for a worker; authorizations for clients are used at once. */
const OWN_SECONDS = 24 * 3600;
const GIVEN_OUT_SECONDS = 300;
/** How often the key is registered again: another process may have replaced it. */
const REGISTERED_MS = 3_600_000;

export interface GivenOut {
  authorization: string;
  expires_at: string;
}

interface Addressed {
  study_id: string;
  participant_id: string;
}

/** Signs messages to the participants' workflows on behalf of the requesting persons. */
export class MessageSigning {
  private readonly signer: AuthorizationSigner;
  private registration: { at: number; done: Promise<void> } | undefined;

  constructor(
    private readonly database: Database,
    settings: Settings,
  ) {
    this.signer = new AuthorizationSigner(signingSecret(settings));
  }

  /**
   * Adds an authorization to a message of this API; a message without a person stays as it is.
   * @param jti the authorization's id
   */
  async signed<M extends object>(
    target: Addressed,
    kind: MessageKind,
    message: M,
    via: 'rest' | 'page',
    jti: string = randomUUID(),
  ): Promise<M & { authorization?: string }> {
    const person = personOf(kind, message);
    if (person === null) return message;
    await this.registered();
    const digest = digestOf(contentOf(kind, message));
    const authorization = await this.signer.sign({ ...target, kind, digest, person, via, jti }, nowMs(), OWN_SECONDS);
    return { ...message, authorization };
  }

  /** An authorization, with this id, for a user to send this message by any Temporal client. */
  async givenOut(
    target: Addressed,
    kind: MessageKind,
    message: object,
    { userId, jti }: { userId: string; jti: string },
  ): Promise<GivenOut> {
    await this.registered();
    const digest = digestOf(contentOf(kind, message));
    const now = nowMs();
    const authorization = await this.signer.sign(
      { ...target, kind, digest, person: { user_id: userId }, via: null, jti },
      now,
      GIVEN_OUT_SECONDS,
    );
    return { authorization, expires_at: new Date((Math.floor(now / 1000) + GIVEN_OUT_SECONDS) * 1000).toISOString() };
  }

  /** Workers know the key before they receive anything that it signed. */
  private registered(): Promise<void> {
    const now = performance.now();
    if (this.registration && now - this.registration.at < REGISTERED_MS) return this.registration.done;
    const registration = {
      at: now,
      done: registerMessageKey(this.database, this.signer.keyId, this.signer.publicKey).catch((fault: unknown) => {
        // The next message tries again.
        if (this.registration === registration) this.registration = undefined;
        throw fault;
      }),
    };
    this.registration = registration;
    return registration.done;
  }
}

/** The id of the authorization of a request's message: a repeated request has the same one (RFC 9562, version 8). */
export function authorizationIdOf(requestKey: string): string {
  const bytes = createHash('sha256').update(`authorization ${requestKey}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** MESSAGE_SIGNING_KEY, or a secret derived from the one that signs access tokens. */
const signingSecret = (settings: Settings): string =>
  settings.MESSAGE_SIGNING_KEY ??
  Buffer.from(hkdfSync('sha256', jwtSecret(settings), '', 'MESSAGE_SIGNING_KEY', 32)).toString('hex');
