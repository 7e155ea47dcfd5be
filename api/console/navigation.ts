import type { Tx } from '../../db/client/database.js';
import type { Actor, Role } from '../http/access.js';
import { inboxCount } from './inbox/inbox.service.js';
import type { Words } from './words/words.js';

/** A menu entry. */
export interface NavigationEntry {
  path: string;
  label: (words: Words) => string;
  /** Pages that belong to it but are not below its path. */
  also?: RegExp;
  /** Roles that see it; not set: all. */
  roles?: readonly Role[];
  /** The number of open items visible to the caller. */
  count?: (tx: Tx, actor: Actor) => Promise<number>;
}

/** The menu, in order. A page adds itself here, in one line. */
export const navigation: readonly NavigationEntry[] = [
  {
    path: '/console/inbox',
    label: (words) => words.navigation.inbox,
    also: /^\/console\/approvals\//,
    count: inboxCount,
  },
  { path: '/console/today', label: (words) => words.navigation.today, also: /^\/console\/visits\// },
  {
    path: '/console/participants',
    label: (words) => words.participants.title,
    also: /^\/console\/(?:enroll|studies\/[^/]+\/(?:enroll|imports?))(?:\/|$)/,
  },
  { path: '/console/studies', label: (words) => words.studies.title, also: /^\/console\/capture\// },
  { path: '/console/audit', label: (words) => words.navigation.audit, roles: ['admin'] },
  { path: '/console/reports', label: (words) => words.navigation.reports },
  { path: '/console/users', label: (words) => words.navigation.users, roles: ['admin'] },
];

/** The menu entry of a page. An entry that lists the page has priority over a path prefix. */
export const entryOf = (page: string): NavigationEntry | undefined =>
  navigation.find(({ also }) => also?.test(page)) ??
  navigation.find(({ path }) => page === path || page.startsWith(`${path}/`));

/** The menu entries that a role sees. */
export const navigationFor = (role: Role): NavigationEntry[] =>
  navigation.filter(({ roles }) => !roles || roles.includes(role));

/**
 * The counts of a user's menu, by path. Sequential: they share a transaction.
 * @param known counts that the page has already
 */
export async function countsFor(
  tx: Tx,
  actor: Actor,
  known: Readonly<Record<string, number>> = {},
): Promise<Record<string, number>> {
  const counts = { ...known };
  for (const { path, count } of navigationFor(actor.role)) if (count) counts[path] ??= await count(tx, actor);
  return counts;
}
