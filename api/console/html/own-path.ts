const HERE = 'http://console.invalid';
const FIRST = '/console/inbox';
const LOGIN = /^\/console\/(login|logout|forgot|reset|accept)(\/|$)/;

/** A console path, parsed as a browser does; anything else becomes the console's first page. */
export function consolePath(given: string | null | undefined): string {
  if (!given || !URL.canParse(given, HERE)) return FIRST;
  const { origin, pathname, search } = new URL(given, HERE);
  if (origin !== HERE || !/^\/console(\/|$)/.test(pathname)) return FIRST;
  return pathname === '/console' || pathname === '/console/' ? FIRST : `${pathname}${search}`;
}

/** The page after a login: one that needs a login. */
export function ownPath(given: string | null | undefined): string {
  const path = consolePath(given);
  return LOGIN.test(path.split('?')[0]!) ? FIRST : path;
}
