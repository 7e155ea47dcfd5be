import { retryAfter } from '../util/retry-after.js';
import { RefusedMessage } from './provider.js';

const PATIENCE_MS = 10_000;
/** Statuses unrelated to the message: no access, timeout, rate limit. */
const ASK_AGAIN = [401, 403, 408, 425, 429];

export interface GatewayRequest {
  /** The gateway's name in a sentence, and its setting. */
  called: string;
  setting: string;
  url: string;
  id: string;
  key: string;
  body: unknown;
  /** Answers that mean that the address does not exist. */
  gone?: (status: number, body: string) => boolean;
}

/**
 * One POST of JSON to a gateway. The headers Idempotency-Key and X-Notification-Id identify a repeat.
 * @throws RefusedMessage for a permanent refusal; Error for a retry. Neither contains address or text
 */
export async function postToGateway({ called, setting, url, id, key, body, gone }: GatewayRequest): Promise<void> {
  const about = setting.split('_')[0]!;
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
    headers: { 'Content-Type': 'application/json', 'X-Notification-Id': id, 'Idempotency-Key': key },
    body: JSON.stringify(body),
  }).catch((fault: unknown) => {
    const isLate = fault instanceof Error && fault.name === 'TimeoutError';
    throw Object.assign(
      new Error(
        `The ${called} (${setting}) ` +
          `${isLate ? `did not answer within ${PATIENCE_MS / 1000} s` : 'is not reached, or broke off'}.`,
        { cause: fault },
      ),
      { code: `${about}_${isLate ? 'TIMEOUT' : 'CONNECTION'}` },
    );
  });
  if (response.ok) return void (await response.body?.cancel());
  const refused = response.status >= 400 && response.status < 500 && !ASK_AGAIN.includes(response.status);
  if (!refused) await response.body?.cancel();
  // A body that breaks off is no answer.
  const said = refused ? (await response.text().catch(() => undefined))?.slice(0, 10_000) : undefined;
  if (said !== undefined && gone?.(response.status, said))
    throw new RefusedMessage(`the ${called} does not know the device any more (${response.status})`, true);
  // The gateway has understood and refuses: it would again.
  if (said !== undefined && !isPage(response.status, said))
    throw new RefusedMessage(`the ${called} refused the message (${response.status})`);
  throw Object.assign(new Error(`The ${called} (${setting}) answered ${response.status}.`), {
    code: `${about}_${response.status}`,
    retryAfterSeconds: retryAfter(response.headers.get('retry-after')),
  });
}

/**
 * Whether a 404 is the page of a web server at whose address there is no gateway (an update, a mistyped
 * address). It says nothing of the message: a gateway answers JSON, or nothing.
 */
export function isPage(status: number, body: string): boolean {
  if (status !== 404 || body.trim() === '') return false;
  try {
    JSON.parse(body);
    return false;
  } catch {
    return true;
  }
}
