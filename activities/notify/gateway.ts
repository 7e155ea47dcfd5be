import { RefusedMessage } from './provider.js';

const PATIENCE_MS = 10_000;
/** Answers that say nothing about the message: not let in, too slow, too many. */
const ASK_AGAIN = [401, 403, 408, 425, 429];

export interface GatewayRequest {
  /** What the gateway is called in a sentence, and the setting that names it. */
  called: string;
  setting: string;
  url: string;
  id: string;
  key: string;
  body: unknown;
  /** Answers that mean: this address is gone. */
  gone?: (status: number, body: string) => boolean;
}

/**
 * One POST of JSON to a gateway. The headers Idempotency-Key and X-Notification-Id let it tell a repetition.
 * @throws RefusedMessage where it would refuse again; Error to try again. Neither names address or text
 */
export async function postToGateway({ called, setting, url, id, key, body, gone }: GatewayRequest): Promise<void> {
  const response = await fetch(url, {
    method: 'POST', redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS),
    headers: { 'Content-Type': 'application/json', 'X-Notification-Id': id, 'Idempotency-Key': key }, body: JSON.stringify(body),
  });
  if (response.ok) return void (await response.body?.cancel());
  const refused = response.status >= 400 && response.status < 500 && !ASK_AGAIN.includes(response.status);
  if (refused && gone) {
    if (gone(response.status, (await response.text()).slice(0, 10_000))) throw new RefusedMessage(`the ${called} does not know the device any more (${response.status})`, true);
  } else {
    await response.body?.cancel();
  }
  // The gateway has understood and says no: it would again.
  if (refused) throw new RefusedMessage(`the ${called} refused the message (${response.status})`);
  throw Object.assign(new Error(`The ${called} (${setting}) answered ${response.status}.`), { code: `${setting.split('_')[0]}_${response.status}` });
}
