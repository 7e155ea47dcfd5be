import { request } from 'node:http';
import type { Http } from '../../support/http.js';

/** Sends what `fetch` would not: a header of any text, a path as it is. */
export function raw(
  by: Http,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number }> {
  const { hostname, port } = new URL(by.base);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        hostname,
        port,
        method,
        path,
        headers: { ...(by.token && { authorization: `Bearer ${by.token}` }), ...headers },
      },
      (answer) => {
        // Of a stream the beginning is enough.
        if (String(answer.headers['content-type']).startsWith('text/event-stream')) answer.destroy();
        answer.resume();
        answer.once('close', () => resolve({ status: answer.statusCode! }));
      },
    );
    sent.once('error', reject);
    sent.end();
  });
}
