import type { Settings } from '../../settings.js';
import { captureUrlFault } from '../../workflows/domain/capture/addresses.js';
import { problem } from './errors.js';

/**
 * Refuses the URL of a server that would receive secrets or data. Production requires https, unless private addresses
 * are allowed there.
 * @throws 400 PRIVATE_URL, INSECURE_URL or INVALID_URL; names are resolved when a connection is made
 */
export function requireOutgoingUrl(settings: Settings, url: string, path: string): void {
  const allowPrivate = settings.ALLOW_PRIVATE_URLS ?? !settings.production;
  const fault = captureUrlFault(url, allowPrivate, path);
  const insecure = !fault && settings.production && !allowPrivate && new URL(url).protocol !== 'https:';
  if (!fault && !insecure) return;
  const message = fault ?? `${path} must begin with https:// in production`;
  const code = insecure ? 'INSECURE_URL' : message.includes('private') ? 'PRIVATE_URL' : 'INVALID_URL';
  throw problem('RULE_VIOLATED', { detail: `${message}.`, errors: [{ path, code, message }] });
}
