import { chmodSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { payloadKeys } from '../../settings.js';
import type { Settings } from '../../settings.js';
import { readIfThere, writePrivate } from './files.js';

/** The secrets of every process of the service. */
export interface Secrets {
  JWT_SECRET: string;
  SESSION_SECRET: string;
  DATACAPTURE_ENCRYPTION_KEY: string;
  AUDIT_SIGNING_KEY: string;
  TEMPORAL_PAYLOAD_KEY: string;
  VAPID_PRIVATE_KEY: string;
  ADMIN_PASSWORD: string;
  /** Only for the embedded database: an external server has its own roles. */
  DATABASE_APP_PASSWORD?: string;
}

const hex = () => randomBytes(32).toString('hex');
/** Easy to read and type: no 0/O, 1/l/I. 20 of 56 characters are 116 bits. */
const password = () => {
  const signs = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  let text = '';
  while (text.length < 20)
    text += [...randomBytes(32)]
      .filter((byte) => byte < 4 * signs.length)
      .map((byte) => signs[byte % signs.length])
      .join('');
  return text.slice(0, 20);
};

/**
 * A value that is created once and stored in DATA_DIR/keys (mode 600).
 * @param given a configured value: it has priority and is not stored
 */
export function keep(keysDir: string, name: string, make: () => string = hex, given?: string): string {
  if (given !== undefined) return given;
  const path = join(keysDir, name);
  const kept = readIfThere(path)?.trim();
  if (kept) {
    chmodSync(path, 0o600);
    return kept;
  }
  const value = make();
  writePrivate(path, `${value}\n`);
  return value;
}

/** Development: missing secrets are generated once. In production readSettings has refused already. */
export function secretsFor(settings: Settings, keysDir: string): Secrets {
  const secret = (name: keyof Secrets & keyof Settings, make = hex) => keep(keysDir, name, make, settings[name]);
  const appPassword =
    settings.DATABASE_URL === undefined ? secret('DATABASE_APP_PASSWORD') : settings.DATABASE_APP_PASSWORD;
  return {
    JWT_SECRET: secret('JWT_SECRET'),
    SESSION_SECRET: secret('SESSION_SECRET'),
    DATACAPTURE_ENCRYPTION_KEY: secret('DATACAPTURE_ENCRYPTION_KEY'),
    AUDIT_SIGNING_KEY: secret('AUDIT_SIGNING_KEY'),
    TEMPORAL_PAYLOAD_KEY: secret('TEMPORAL_PAYLOAD_KEY'),
    // Browsers' subscriptions are bound to it.
    VAPID_PRIVATE_KEY: secret('VAPID_PRIVATE_KEY', () => randomBytes(32).toString('base64url')),
    ADMIN_PASSWORD: secret('ADMIN_PASSWORD', password),
    ...(appPassword === undefined ? {} : { DATABASE_APP_PASSWORD: appPassword }),
  };
}

/** The possible passwords of the first admin: the present one, and the stored one. */
export function adminPasswords(keysDir: string, now: string): string[] {
  const kept = readIfThere(join(keysDir, 'ADMIN_PASSWORD'))?.trim();
  return kept ? [now, kept] : [now];
}

/** Also stores a configured one: a later start without the setting still shows the valid password. */
export const keepAdminPassword = (keysDir: string, password: string): void =>
  writePrivate(join(keysDir, 'ADMIN_PASSWORD'), `${password}\n`);

/** The payload keys of the service that runs on this data folder. */
export const payloadKeysOf = (settings: Settings): ReturnType<typeof payloadKeys> =>
  payloadKeys({
    ...settings,
    TEMPORAL_PAYLOAD_KEY:
      settings.TEMPORAL_PAYLOAD_KEY ?? readIfThere(join(settings.DATA_DIR, 'keys', 'TEMPORAL_PAYLOAD_KEY'))?.trim(),
  });
