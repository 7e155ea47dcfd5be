import { isPage, postToGateway } from './gateway.js';
import type { Provider } from './provider.js';

/**
 * Push messages through an HTTP gateway with the API of FCM v1: POST of `{message: {token, notification, data}}`. A
 * lost device is reported as by FCM: 404, or UNREGISTERED or INVALID_ARGUMENT in the error.
 * @param url PUSH_GATEWAY_URL
 */
export function pushGateway(url: string): Provider {
  return {
    send: ({ id, key = id, to, subject, text }) =>
      postToGateway({
        called: 'push gateway',
        setting: 'PUSH_GATEWAY_URL',
        url,
        id,
        key,
        body: { message: { token: to, notification: { title: subject, body: text }, data: { notification_id: id } } },
        gone: (status, body) =>
          /UNREGISTERED|INVALID_ARGUMENT/.test(body) || ((status === 404 || status === 410) && !isPage(status, body)),
      }),
  };
}
