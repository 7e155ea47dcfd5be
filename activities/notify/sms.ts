import { RefusedMessage } from './provider.js';
import type { Provider } from './provider.js';

const PATIENCE_MS = 10_000;

/**
 * Text messages through an HTTP gateway: POST of `{to, text}` as JSON; the header X-Notification-Id lets it tell a
 * repetition. Errors name neither number nor text.
 * @param url SMS_GATEWAY_URL
 */
export function smsGateway(url: string): Provider {
  return {
    send: async ({ id, to, text }) => {
      const response = await fetch(url, {
        method: 'POST', redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS),
        headers: { 'Content-Type': 'application/json', 'X-Notification-Id': id }, body: JSON.stringify({ to, text }),
      });
      await response.body?.cancel();
      if (response.ok) return;
      // The gateway has understood and says no: it would again.
      if (response.status >= 400 && response.status < 500 && ![401, 403, 408, 425, 429].includes(response.status)) throw new RefusedMessage(`the SMS gateway refused the message (${response.status})`);
      throw Object.assign(new Error(`The SMS gateway (SMS_GATEWAY_URL) answered ${response.status}.`), { code: `SMS_${response.status}` });
    },
  };
}
