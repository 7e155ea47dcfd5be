import { allRoles } from '../access.js';
import type { Access } from '../access.js';
import type { Route } from '../route.js';

const COLUMNS = [...allRoles, 'participant', 'caregiver'] as const;

/** The permissions of each operation, one row each, as Markdown; the same routes give the same text. */
export function permissionsTable(routes: readonly Route[]): string {
  const rows = [...routes]
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.method < b.method ? -1 : 1))
    .map(
      (route) =>
        `| ${route.method} | \`${route.path}\` | ` +
        `${COLUMNS.map((role) => (allows(route.access, role) ? '●' : '')).join(' | ')} | ` +
        `${within(route.access)} | ${rule(route.access)} |`,
    );
  return `# Who may call what

Written from the routes by \`npm run permissions\` (and by \`npm run openapi\`); a test compares. ● may call. **In**: \`study\` in the studies
that they are assigned to (admin: everywhere), coordinators and investigators who have sites in these alone, \`service\` what belongs
to no study, \`self\` one's own, or of whom one cares for. A route that anybody may call without a token has no ●. Routes of \`/api/v1\`
take a token with the scope that is named, within what its user may.

| | Path | ${COLUMNS.join(' | ')} | In | Rule |
|---|---|${COLUMNS.map(() => ':-:|').join('')}---|---|
${rows.join('\n')}
`;
}

const allows = ({ token, roles }: Access, role: (typeof COLUMNS)[number]): boolean =>
  role === 'participant' || role === 'caregiver'
    ? byPortal(token) || token === 'either'
    : token !== false && !byPortal(token) && roles.includes(role);
const byPortal = (token: Access['token']): boolean => token === 'portal' || token === 'anyPortalUser';
const within = ({ token, study }: Access): string =>
  token === false ? 'anyone' : byPortal(token) ? 'self' : study ? 'study' : 'service';
const rule = ({ scope, note, token }: Access): string =>
  [scope && `token with \`${scope}\``, token === 'setup' && 'also by the mfa token of a login', note]
    .filter(Boolean)
    .join('; ')
    .replaceAll('|', '\\|');
