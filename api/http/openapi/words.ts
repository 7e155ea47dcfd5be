import type { Access } from '../access.js';
import type { Route } from '../route.js';

/** What an operation does, who may call it, what it changes and how it refuses, in words. */
export function told(route: Route): string {
  return [route.description ?? `${route.summary}.`, who(route.access)].join('\n\n');
}

const list = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)!}`;

function who({ token, roles, study, note, scope }: Access): string {
  const more = note ? `; ${note}` : '';
  if (token === false) return `Who may: anyone, without a token${more}.`;
  if (token === 'portal' || token === 'anyPortalUser')
    return `Who may: participants and caregivers, by a portal token${more}.`;
  const where = study ? ', in their studies' : '';
  const by = scope ? `, by a token with \`${scope}\`` : token === 'setup' ? ', also by the mfa token of a login' : '';
  const also = token === 'either' ? '; the participant itself and its caregivers' : '';
  return `Who may: ${list(roles)}${where}${by}${also}${more}.`;
}
