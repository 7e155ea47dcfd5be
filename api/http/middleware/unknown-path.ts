import type { Context } from 'koa';
import type { Dependencies } from '../../dependencies.js';
import type { Route } from '../route.js';
import { refuseUnknownPath } from './begin.js';
import { countRequest } from './rate-limit.js';

/** Answers a path that no route has: the address of a page with a slash at its end leads to the page. */
export function unknownPath(routes: readonly Route[], dependencies: Dependencies) {
  const pages = routes.filter(isPage).map(({ path }) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`));
  return async (ctx: Context): Promise<void> => {
    const path = ctx.path.replace(/\/+$/, '');
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
    if (!isRead || path === ctx.path || !pages.some((page) => page.test(path)))
      return refuseUnknownPath(ctx, dependencies);
    await countRequest(ctx, 'general', undefined, dependencies);
    ctx.set('Location', `${path}${ctx.search}`);
    ctx.body = null;
    ctx.status = 308;
  };
}

/** A page of its own: a file has an extension. */
const isPage = ({ method, path, hidden }: Route): boolean =>
  method === 'GET' && hidden === true && !path.includes('.') && path !== '/';
