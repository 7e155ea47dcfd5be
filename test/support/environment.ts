import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingDefinitions } from '../../settings.js';

/** The checkout, seen from the sources or from dist. */
export const root = (() => {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
})();

/** What a test may take from the person's own settings: where a program lies, not what it works on. */
const KEPT = new Set(['TEMPORAL_CLI', 'CHROMIUM_PATH']);

/** More requests a minute than any test makes; a test of the limits starts a service with its own. */
const GENEROUS = '100000';

/**
 * The environment of a service for tests. Every setting that is not named is empty, which means "not set" and keeps
 * .env out: tests never touch the servers that a person has configured.
 */
export function testEnvironment(overrides: Record<string, string> = {}): NodeJS.ProcessEnv {
  const blank = Object.keys(settingDefinitions)
    .filter((name) => !KEPT.has(name))
    .map((name) => [name, '']);
  return {
    ...process.env,
    ...(Object.fromEntries(blank) as Record<string, string>),
    NODE_ENV: 'development',
    PORT: 'auto',
    POSTGRES_PORT: 'auto',
    TEMPORAL_PORT: 'auto',
    TEMPORAL_UI_PORT: 'auto',
    MAIL_PORT: 'auto',
    MAIL_UI_PORT: 'auto',
    RATE_LIMIT_PER_MINUTE: GENEROUS,
    AUTH_RATE_LIMIT_PER_MINUTE: GENEROUS,
    WEBHOOK_RATE_LIMIT_PER_MINUTE: GENEROUS,
    ...overrides,
  };
}
