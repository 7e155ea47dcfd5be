import { formAt } from './faults.js';

/** What a page is told that a form of it has done: `done` which, `of` what. */
const TOLD = ['done', 'of'];

/**
 * The page that a form was sent from, told what was done.
 * @param first the path that it must be below, and where it is led to otherwise
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

/** A path with a query of those parameters that are set. */
export function pathWith(path: string, query: Record<string, string | number | undefined>): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '' && value !== 0) asked.set(name, String(value));
  return asked.size > 0 ? `${path}?${asked.toString()}` : path;
}
