import { postToGateway } from './gateway.js';
import type { Provider } from './provider.js';

/**
 * Text messages through an HTTP gateway: POST of `{to, text, id, status_callback?}` as JSON; the gateway posts the
 * delivery status to the callback (`POST /api/notifications/{id}/delivery-report`).
 * @param url SMS_GATEWAY_URL
 */
export function smsGateway(url: string): Provider {
  return {
    send: ({ id, key = id, to, text, reportUrl }) =>
      postToGateway({
        called: 'SMS gateway',
        setting: 'SMS_GATEWAY_URL',
        url,
        id,
        key,
        body: { to, text, id, ...(reportUrl !== undefined && { status_callback: reportUrl }) },
      }),
  };
}
