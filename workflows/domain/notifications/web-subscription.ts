import Type from 'typebox';
import type { Static } from 'typebox';
import { Check } from 'typebox/value';

const base64url = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+={0,2}$', maxLength: 200, description });
/** A browser's subscription to push messages (W3C Push API, `PushSubscription.toJSON()`). */
export const WebSubscription = Type.Object({
  endpoint: Type.String({ maxLength: 2_000, pattern: '^https?://' }),
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
    return Check(WebSubscription, parsed) ? parsed : undefined;
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
}
