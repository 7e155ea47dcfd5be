import { allRoles } from '../access.js';
import type { Access } from '../access.js';
import { responseSchema } from '../route.js';
import type { Route } from '../route.js';

/** The description of an operation: action, permissions and errors. */
export function operationDescription(route: Route): string {
  const parts = [route.description ?? `${route.summary}.`, [who(route.access), refusals(route)]];
  return parts.map((part) => [part].flat().filter(Boolean).join(' ')).join('\n\n');
}

const list = (words: readonly (string | number)[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)!}`;

function who({ token, roles, study, note, scope }: Access): string {
  const more = note ? `; ${note}` : '';
  if (token === false) return `Access: anyone, without a token${more}.`;
  if (token === 'portal' || token === 'anyPortalUser')
    return `Access: participants and caregivers, by a portal token${more}.`;
  const where = study ? ', in their studies' : '';
  const by = scope ? `, by a token with \`${scope}\`` : token === 'setup' ? ', also by the mfa token of a login' : '';
  const also = token === 'either' ? '; the participant itself and its caregivers' : '';
  const whom = roles.length === allRoles.length ? 'every role' : list(roles);
  return `Access: ${whom}${where}${by}${also}${more}.`;
}

/** The errors that the route declares, besides those of any operation of its kind. */
function refusals({ responses }: Route): string {
  const own = Object.keys(responses)
    .map(Number)
    .filter((status) => status >= 400 && !responseSchema(responses[status]));
  return own.length > 0 ? `Further errors: ${list(own)}.` : '';
}
