import { formAt } from './faults.js';

/** Query parameters that tell a page what a form did: `done` the action, `of` its object. */
const TOLD = ['done', 'of'];

/**
 * The page that a form was sent from, with the result in its query.
 * @param first the required path prefix, and the fallback address
 */
export function backTo(form: URLSearchParams, first: string, told: Record<string, string> = {}): string {
  const back = formAt(form, first);
  const { pathname, searchParams } = new URL(back, 'http://console.invalid');
  const isWithin = pathname === first || pathname.startsWith(`${first}/`);
  const asked = isWithin ? searchParams : new URLSearchParams();
  for (const name of TOLD) asked.delete(name);
  for (const [name, value] of Object.entries(told)) asked.set(name, value);
  return `${isWithin ? pathname : first}${asked.size > 0 ? `?${asked.toString()}` : ''}`;
}

/** A path with a query of the set parameters. */
export function pathWith(path: string, query: Record<string, string | number | undefined>): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '' && value !== 0) asked.set(name, String(value));
  return asked.size > 0 ? `${path}?${asked.toString()}` : path;
}
