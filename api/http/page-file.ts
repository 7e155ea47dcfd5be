import { anyone } from './access.js';
import { reply, route } from './route.js';

/** A file of a page for everybody: its document, script, style or icon. Made at its first request, then kept. */
export function pageFile({
  path,
  summary,
  type,
  content,
  headers,
}: {
  path: string;
  summary: string;
  type: string;
  content: () => string;
  headers: Record<string, string>;
}) {
  let made: Buffer | undefined;
  return route({
    method: 'GET',
    path,
    hidden: true,
    tag: 'Pages',
    summary,
    access: anyone,
    rateLimit: 'none',
    responses: { 200: undefined },
    handle: () => reply(200, (made ??= Buffer.from(content())), { 'Content-Type': type, ...headers }),
  });
}
