import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** A stored secret that cannot be read. The message says why and names the setting, never the secret. */
export class SecretUnreadable extends Error {
  constructor(
    readonly reason: 'no_key' | 'wrong_key' | 'damaged',
    message: string,
  ) {
    super(message);
    this.name = 'SecretUnreadable';
  }
}

/**
 * Encrypts stored tokens and secrets of capture systems: AES-256-GCM, written as `v1:<key id>:<iv>:<tag>:<data>`. The
 * storage place of a secret is authenticated with it, so that a ciphertext moved to another study or column does not
 * decrypt.
 */
export class SecretBox {
  /** Identifies the key of a ciphertext without revealing anything of it. */
  readonly keyId: string;

  /**
   * @param key 32 bytes; undefined: every use throws SecretUnreadable, so that a service without a key still starts
   * @param source where the key comes from, for messages
   */
  constructor(
    private readonly key: Buffer | undefined,
    private readonly source = 'DATACAPTURE_ENCRYPTION_KEY',
  ) {
    this.keyId = key
      ? createHash('sha256').update('datacapture-key-id\0').update(key).digest('hex').slice(0, 12)
      : 'none';
  }

  seal(plain: string, place: string): string {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.needKey(), iv).setAAD(Buffer.from(place));
    const data = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return [
      'v1',
      this.keyId,
      iv.toString('base64url'),
      cipher.getAuthTag().toString('base64url'),
      data.toString('base64url'),
    ].join(':');
  }

  /** @throws SecretUnreadable when the key is another one or the text was changed. */
  open(sealed: string, place: string): string {
    const key = this.needKey();
    const parts = sealed.split(':');
    const [version, keyId, iv, tag, data] = parts;
    if (
      parts.length !== 5 ||
      version !== 'v1' ||
      keyId === undefined ||
      iv === undefined ||
      tag === undefined ||
      data === undefined
    ) {
      throw new SecretUnreadable('damaged', 'The stored secret is not in a form that this program writes.');
    }
    if (keyId !== this.keyId) {
      throw new SecretUnreadable(
        'wrong_key',
        `The stored secret was encrypted with another key (${keyId}) than ${this.source} holds (${this.keyId}).`,
      );
    }
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
        .setAAD(Buffer.from(place))
        .setAuthTag(Buffer.from(tag, 'base64url'));
      return Buffer.concat([decipher.update(Buffer.from(data, 'base64url')), decipher.final()]).toString('utf8');
    } catch (cause) {
      throw Object.assign(
        new SecretUnreadable('damaged', 'The stored secret was changed since it was written: enter it again.'),
        { cause },
      );
    }
  }

  private needKey(): Buffer {
    if (!this.key)
      throw new SecretUnreadable(
        'no_key',
        `${this.source} is not set: capture-system tokens and secrets cannot be read.`,
      );
    return this.key;
  }
}
