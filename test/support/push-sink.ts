import { createDecipheriv, createECDH, createHmac, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import type { ECDH } from 'node:crypto';
import type { Received } from './receiver.js';

/** A browser that has subscribed to push messages: what it tells of itself, and what it alone can read (RFC 8291). */
export class PushBrowser {
  private readonly curve: ECDH = createECDH('prime256v1');
  private readonly auth = randomBytes(16);
  private readonly publicKey = this.curve.generateKeys();

  constructor(private readonly endpoint: string) {}

  /** As `PushSubscription.toJSON()` gives it, as text. */
  get token(): string {
    return JSON.stringify({
      endpoint: this.endpoint,
      expirationTime: null,
      keys: { p256dh: this.publicKey.toString('base64url'), auth: this.auth.toString('base64url') },
    });
  }

  /** Decrypts a message of one record of aes128gcm (RFC 8188). @throws where it was not encrypted for this browser */
  read({ bytes, headers }: Received): { title: string; body: string; notification_id: string } {
    if (headers['content-encoding'] !== 'aes128gcm')
      throw new Error(`not aes128gcm but ${String(headers['content-encoding'])}`);
    const salt = bytes.subarray(0, 16),
      keyLength = bytes.readUInt8(20);
    const senderKey = bytes.subarray(21, 21 + keyLength),
      record = bytes.subarray(21 + keyLength);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.publicKey, senderKey]);
    const secret = createHmac(
      'sha256',
      createHmac('sha256', this.auth).update(this.curve.computeSecret(senderKey)).digest(),
    )
      .update(Buffer.concat([info, Buffer.from([1])]))
      .digest();
    const derived = (label: string, length: number) =>
      Buffer.from(hkdfSync('sha256', secret, salt, Buffer.from(`Content-Encoding: ${label}\0`), length));
    const decipher = createDecipheriv('aes-128-gcm', derived('aes128gcm', 16), derived('nonce', 12));
    decipher.setAuthTag(record.subarray(-16));
    const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
    // The last record ends with a 2 before its padding.
    return JSON.parse(padded.subarray(0, padded.lastIndexOf(2)).toString()) as {
      title: string;
      body: string;
      notification_id: string;
    };
  }
}

/** The claims of a message's VAPID signature (RFC 8292), and the key that made it. @throws where it does not verify */
export function vapidOf({ headers }: Received): { key: string; claims: { aud: string; sub: string; exp: number } } {
  const [, token, key] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(headers.authorization ?? '') ?? [];
  if (!token || !key) throw new Error(`no VAPID authorization: ${String(headers.authorization)}`);
  const point = Buffer.from(key, 'base64url');
  const publicKey = createPublicKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    },
  });
  const [head, body, signature] = token.split('.') as [string, string, string];
  if (
    !verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
  )
    throw new Error('the VAPID signature does not verify');
  return {
    key,
    claims: JSON.parse(Buffer.from(body, 'base64url').toString()) as { aud: string; sub: string; exp: number },
  };
}
