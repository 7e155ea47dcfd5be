import type { Access } from '../access.js';
import { CSRF_HEADER, PORTAL_COOKIE } from '../security/portal.js';
import type { Json } from './components.js';

const jwt = (description?: string): Json => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  ...(description !== undefined && { description }),
});
export const securitySchemes: Json = {
  bearer: jwt(),
  mfa: jwt('the `mfa_token` of a login that answered `mfa_setup_required`'),
  scoped: jwt('a token of `POST /api/v1/tokens`; `x-permissions` names the scope that it needs'),
  portal: jwt('the participant’s own portal token'),
  portalCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: PORTAL_COOKIE,
    description:
      `the same as a cookie; a change by it needs \`${CSRF_HEADER}: 1\` or comes from a page of the service ` +
      'itself (Sec-Fetch-Site: same-origin), else 403 CSRF_REFUSED',
  },
};

const byPortal = [{ portal: [] }, { portalCookie: [] }];
const BY_TOKEN: Record<string, object[]> = {
  false: [],
  true: [{ bearer: [] }],
  portal: byPortal,
  anyPortalUser: byPortal,
  either: [{ bearer: [] }, ...byPortal],
  setup: [{ bearer: [] }, { mfa: [] }],
  scoped: [{ scoped: [] }],
};
/** The security schemes of an operation. */
export const security = ({ token }: Access): object[] => BY_TOKEN[String(token)]!;

const PORTAL_ROLES = ['participant', 'caregiver'];
/**
 * The permissions of an operation in the document; `participant` is the one named in the path, or the caller itself,
 * `caregiver` its caregiver.
 */
export function permissions({ token, roles, study, note, scope }: Access): Json {
  if (token === false) return { roles: ['anyone'], ...(note && { note }) };
  if (token === 'portal' || token === 'anyPortalUser') return { roles: PORTAL_ROLES, scope: 'self' };
  return {
    roles: token === 'either' ? [...roles, ...PORTAL_ROLES] : roles,
    scope: study ? 'study' : 'service',
    ...(scope && { token_scope: scope }),
    ...(note && { note }),
  };
}
