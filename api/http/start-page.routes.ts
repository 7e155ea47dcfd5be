import { Type } from '../http/common.schemas.js';
import { anyone } from './access.js';
import { problem } from './errors.js';
import { reply, route } from './route.js';

/** The address without a path, as a person opens it: it leads to the console, else to the documentation. */
export const startPage = route({
  method: 'GET',
  path: '/',
  hidden: true,
  tag: 'Pages',
  summary: 'Where to begin',
  access: anyone,
  headers: Type.Object({ accept: Type.Optional(Type.String()) }),
  responses: { 303: undefined },
  handle: ({ headers, services: { settings } }) => {
    const to = settings.ENABLE_CONSOLE ? '/console' : settings.ENABLE_API_DOCS ? '/docs' : undefined;
    // Only browsers are redirected. A program gets 404, since it has the wrong address.
    if (to === undefined || !headers.accept?.includes('text/html'))
      throw problem('NOT_FOUND', { detail: 'There is nothing at this path.' });
    return reply(303, undefined, { Location: to });
  },
});
