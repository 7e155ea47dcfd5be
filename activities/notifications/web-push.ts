import webPushLibrary from 'web-push';
import { vapidPublicKey } from '../../settings.js';
import type { Settings } from '../../settings.js';
import { webSubscription } from '../../workflows/domain/notifications/web-subscription.js';
import { postBytes } from './post-bytes.js';
import { RefusedMessage, unconfiguredReasons } from './provider.js';
import type { Provider } from './provider.js';

/** A message about a visit soon becomes useless. */
const TTL_SECONDS = 12 * 3600;
/** Push services accept 4 KB, encrypted; a notification displays less than this. */
const MAX_LENGTHS = { title: 200, body: 800 };

/**
 * Push messages to browsers: encrypted for the browser (RFC 8291), signed by this service (RFC 8292), delivered through
 * the browser's push service. With the Topic header (RFC 8030) a retry replaces an undelivered message. Null: no key is
 * set.
 */
export function webPush(
  settings: Pick<Settings, 'VAPID_PRIVATE_KEY' | 'VAPID_SUBJECT' | 'MAIL_FROM' | 'ALLOW_PRIVATE_URLS' | 'production'>,
): Provider | null {
  const privateKey = settings.VAPID_PRIVATE_KEY?.replace(/=$/, '');
  if (!privateKey) return null;
  const vapidDetails = {
    privateKey,
    publicKey: vapidPublicKey(privateKey),
    subject: settings.VAPID_SUBJECT ?? `mailto:${/<([^>]+)>/.exec(settings.MAIL_FROM)?.[1] ?? settings.MAIL_FROM}`,
  };
  const allowPrivate = settings.ALLOW_PRIVATE_URLS ?? !settings.production;
  return {
    send: async ({ id, to, subject, text }) => {
      const { endpoint, headers, body } = sealed(
        to,
        JSON.stringify({
          title: subject.slice(0, MAX_LENGTHS.title),
          body: text.slice(0, MAX_LENGTHS.body),
          notification_id: id,
        }),
        { vapidDetails, TTL: TTL_SECONDS, topic: id.replaceAll('-', ''), contentEncoding: 'aes128gcm' },
      );
      const { status, retryAfterSeconds } = await postBytes(endpoint, headers, body, { allowPrivate });
      if (status >= 200 && status < 300) return;
      if (status === 404 || status === 410)
        throw new RefusedMessage(`the push service does not know the browser any more (${status})`, true);
      if (status >= 400 && status < 500 && status !== 408 && status !== 429)
        throw new RefusedMessage(`the push service refused the message (${status})`);
      throw Object.assign(new Error(`The push service answered ${status}.`), {
        code: `WEBPUSH_${status}`,
        retryAfterSeconds,
      });
    },
  };
}

/** @throws RefusedMessage if the browser's keys are invalid: its subscription is useless */
function sealed(token: string, payload: string, options: webPushLibrary.RequestOptions) {
  const subscription = webSubscription(token);
  if (!subscription) throw new RefusedMessage('the browser’s subscription cannot be read', true);
  try {
    return webPushLibrary.generateRequestDetails(subscription, payload, options);
  } catch (fault) {
    throw new RefusedMessage(
      `the browser’s subscription is not usable: ${fault instanceof Error ? fault.message : 'its keys are wrong'}`,
      true,
    );
  }
}

/**
 * One provider for both kinds of devices: a browser's subscription goes to its push service, any other token to the
 * gateway.
 */
export const toBrowsersAndApps = (browsers: Provider | null, apps: Provider | null): Provider | null =>
  browsers === null && apps === null
    ? null
    : {
        send: async (message) => {
          const isBrowser = webSubscription(message.to) !== undefined;
          const provider = isBrowser ? browsers : apps;
          if (!provider)
            throw new RefusedMessage(
              isBrowser ? 'no key for push messages to browsers is set (VAPID_PRIVATE_KEY)' : unconfiguredReasons.push,
            );
          await provider.send(message);
        },
      };
