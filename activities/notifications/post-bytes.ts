import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { captureUrlFault } from '../../workflows/domain/capture/addresses.js';
import { publicAddresses } from '../util/public-addresses.js';
import { retryAfter } from '../util/retry-after.js';
import { RefusedMessage } from './provider.js';

const PATIENCE_MS = 10_000;
const PRIVATE = 'the push service has a private address, which ALLOW_PRIVATE_URLS forbids here';
const publicLookup = publicAddresses(() => new RefusedMessage(PRIVATE));

/**
 * POSTs bytes to an external address: no redirect is followed, and names that resolve to a private network are refused
 * when the socket is opened. Only the answer's status counts.
 * @throws RefusedMessage for an address that is not allowed; Error for a retry
 */
export function postBytes(
  target: string,
  headers: Record<string, string | number>,
  body: Buffer | null,
  { allowPrivate }: { allowPrivate: boolean },
): Promise<{ status: number; retryAfterSeconds: number | undefined }> {
  if (captureUrlFault(target, allowPrivate, 'the endpoint')) return Promise.reject(new RefusedMessage(PRIVATE));
  const url = new URL(target);
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(
      url,
      {
        method: 'POST',
        headers,
        signal: AbortSignal.timeout(PATIENCE_MS),
        ...(!allowPrivate && { lookup: publicLookup }),
      },
      (response) => {
        resolve({
          status: response.statusCode ?? 0,
          retryAfterSeconds: retryAfter(response.headers['retry-after'] ?? null),
        });
        // The body is not needed.
        response.destroy();
      },
    );
    request.on('error', (fault: NodeJS.ErrnoException) => {
      reject(
        fault instanceof RefusedMessage
          ? fault
          : Object.assign(new Error('The push service is not reached.'), {
              code:
                fault.name === 'AbortError' || fault.name === 'TimeoutError'
                  ? 'WEBPUSH_TIMEOUT'
                  : (fault.code ?? 'WEBPUSH'),
            }),
      );
    });
    request.end(body ?? undefined);
  });
}
