const HERE = 'http://console.invalid';
const FIRST = '/console/inbox';
const LOGIN = /^\/console\/(login|logout|forgot|reset|accept)(\/|$)/;

/** A console path, parsed as a browser does; anything else becomes the console's first page. */
export function consolePath(url: string | null | undefined): string {
  if (!url || !URL.canParse(url, HERE)) return FIRST;
  const { origin, pathname, search } = new URL(url, HERE);
  if (origin !== HERE || !/^\/console(\/|$)/.test(pathname)) return FIRST;
  return pathname === '/console' || pathname === '/console/' ? FIRST : `${pathname}${search}`;
}

/** The page after a login: one that needs a login. */
export function ownPath(url: string | null | undefined): string {
  const path = consolePath(url);
  return LOGIN.test(path.split('?')[0]!) ? FIRST : path;
}
