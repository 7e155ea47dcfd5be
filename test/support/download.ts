import { beginning, collect } from './examples.js';
import type { Http } from './http.js';

/** A file as it is downloaded; with a body by POST. */
export async function download(
  http: Http,
  path: string,
  body?: object,
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const method = body ? 'POST' : 'GET';
  const response = await fetch(`${http.base}${path}`, {
    method,
    headers: { Authorization: `Bearer ${http.token!}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const bytes = Buffer.from(await response.arrayBuffer());
  const type = headers.get('content-type') ?? '';
  const content = /^text|ndjson/.test(type) ? bytes.toString('utf8') : bytes;
  if (!type.startsWith('application/json'))
    collect(method, path, status, () => ({
      given: { body },
      answered: beginning(type, content, headers.get('content-disposition')),
    }));
  return { status, headers, bytes };
}
