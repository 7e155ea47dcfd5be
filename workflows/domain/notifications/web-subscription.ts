import Type from 'typebox';
import type { Static } from 'typebox';

const BASE64URL = '^[A-Za-z0-9_-]+={0,2}$',
  MAX_KEY = 200;
const ENDPOINT = '^https?://',
  MAX_ENDPOINT = 2_000;
const base64url = (description: string) => Type.String({ pattern: BASE64URL, maxLength: MAX_KEY, description });
/** A browser's subscription to push messages (W3C Push API, `PushSubscription.toJSON()`). */
export const WebSubscription = Type.Object({
  endpoint: Type.String({ maxLength: MAX_ENDPOINT, pattern: ENDPOINT }),
  expirationTime: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  keys: Type.Object({ p256dh: base64url('65 bytes'), auth: base64url('16 bytes') }),
});
export type WebSubscription = Static<typeof WebSubscription>;

/** Describes the fault of a browser's subscription; undefined: none. Pure. */
export function webSubscriptionFault(token: string): string | undefined {
  const subscription = webSubscription(token);
  if (!subscription) return 'is no push subscription as a browser gives it: {endpoint, keys: {p256dh, auth}}';
  // Four characters for three bytes, without padding.
  const bytes = (text: string) => Math.floor((text.replaceAll('=', '').length * 3) / 4);
  if (bytes(subscription.keys.p256dh) !== 65) return 'holds a key p256dh that is not 65 bytes';
  return bytes(subscription.keys.auth) === 16 ? undefined : 'holds a key auth that is not 16 bytes';
}

/** A device token as a browser's subscription; undefined: it is another kind of token. Pure. */
export function webSubscription(token: string): WebSubscription | undefined {
  if (!token.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(token);
    return isSubscription(parsed) ? parsed : undefined;
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
}

/** The rules of `WebSubscription`. TypeBox's own check loads hundreds of modules at each start of API and worker. */
function isSubscription(value: unknown): value is WebSubscription {
  if (!isObject(value)) return false;
  const { endpoint, expirationTime = null, keys } = value;
  return (
    isObject(keys) &&
    isText(endpoint, ENDPOINT, MAX_ENDPOINT) &&
    (expirationTime === null || Number.isFinite(expirationTime)) &&
    isText(keys.p256dh, BASE64URL, MAX_KEY) &&
    isText(keys.auth, BASE64URL, MAX_KEY)
  );
}
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isText = (value: unknown, pattern: string, most: number): boolean =>
  typeof value === 'string' && [...value].length <= most && new RegExp(pattern).test(value);
