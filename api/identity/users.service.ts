import type { RequestScope } from '../http/state.js';
import { hashPassword } from '../../db/identity/passwords.js';
import { endUserLinks } from '../../db/identity/user-links.queries.js';
import { revokeApiTokensOf } from '../../db/v1/api-tokens.queries.js';
import {
  assignSites,
  assignStudies,
  insertUser,
  lockUserAndAdmins,
  missingIds,
  revokeAllOf,
  sitesOutside,
  updateUser,
  userById,
  userSecretForUpdate,
} from '../../db/identity/users.queries.js';
import type { UserRow } from '../../db/identity/users.queries.js';
import type { Dependencies } from '../dependencies.js';
import { mfaRequired } from './mfa-challenge.js';
import { requireUncommon } from '../http/security/password-rule.js';
import { brokenRule, problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Registers a user. @throws 409 EMAIL_TAKEN, 400 for a common password, an unknown study or site, or a site of
 * another study
 */
export async function register(
  { tx, audit, actor, context }: RequestScope,
  input: { email: string; name: string; password: string; role: string; study_ids?: string[]; site_ids?: string[] },
): Promise<UserRow> {
  requireUncommon(input.password, input.email, 'password');
  await requireKnown(tx, input);
  await requireSitesWithin(tx, input.site_ids ?? [], input.study_ids ?? []);
  const id = await mapConstraintErrors({ users_email: 'EMAIL_TAKEN' }, async () =>
    insertUser(tx, {
      email: input.email,
      name: input.name,
      role: input.role,
      password_hash: await hashPassword(input.password),
    }),
  );
  if (input.study_ids?.length) await assignStudies(tx, id, input.study_ids);
  if (input.site_ids?.length) await assignSites(tx, id, input.site_ids);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'user_created',
    resource_type: 'user',
    resource_id: id,
    metadata: { role: input.role, study_ids: input.study_ids ?? [], site_ids: input.site_ids ?? [] },
  });
  return getUserOrThrow(tx, id);
}

interface UserChange {
  role?: string;
  status?: string;
  study_ids?: string[];
  site_ids?: string[];
}
/** A change of a user; the settings say which roles need a second factor. */
export type UserChanging = RequestScope & { services: Pick<Dependencies, 'settings'> };

/**
 * Changes role, status, studies or sites; a deactivated user's sessions and tokens end. So do logins without the second
 * factor that another role needs: the next one sets it up. @throws 404, 409 LAST_ADMIN, 400 as `register`
 */
export async function changeUser(
  { tx, audit, actor, context, services }: UserChanging,
  id: string,
  change: UserChange,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<UserRow> {
  const mayEndAdmin = (change.role ?? 'admin') !== 'admin' || change.status === 'inactive';
  const otherAdmins = mayEndAdmin ? await lockUserAndAdmins(tx, id) : undefined;
  if (!mayEndAdmin) await userSecretForUpdate(tx, id);
  const before = await getUserOrThrow(tx, id);
  assertIfMatch({ ...before });
  if (changesOf(before, change).length === 0) return before;
  await requireKnown(tx, change);
  if (before.role === 'admin' && before.status === 'active' && otherAdmins === 0) throw problem('LAST_ADMIN');
  const { study_ids, site_ids: given, ...fields } = change;
  const site_ids = (study_ids ?? given) ? await sitesAfter(tx, id, change) : undefined;
  await updateUser(tx, id, fields);
  if (study_ids) await assignStudies(tx, id, study_ids);
  if (site_ids) await assignSites(tx, id, site_ids);
  const ended = change.status === 'inactive' ? await endAccess(tx, id) : [];
  const lacksFactor =
    fields.role !== undefined &&
    fields.role !== before.role &&
    !before.mfa_enabled &&
    mfaRequired(services.settings, fields.role);
  if (lacksFactor) await revokeAllOf(tx, id);
  const changed = changesOf(before, { ...change, ...(site_ids && { site_ids }) });
  const after = await getUserOrThrow(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'user_changed',
    resource_type: 'user',
    resource_id: id,
    metadata: {
      fields: changed,
      ...(change.role && { role: change.role }),
      ...(changed.includes('role') && { role_before: before.role }),
      ...(change.status && { status: change.status }),
      ...(changed.includes('status') && { status_before: before.status }),
      ...(lacksFactor && { logins_ended: true }),
      // Who had access to what, and until when, is known by the log alone.
      ...(changed.includes('study_ids') && { study_ids: after.study_ids, study_ids_before: before.study_ids }),
      ...(changed.includes('site_ids') && { site_ids: after.site_ids, site_ids_before: before.site_ids }),
    },
  });
  for (const token of ended)
    audit.record({
      ...auditActor(actor, context),
      study_id: null,
      action: 'api_token_revoked',
      resource_type: 'api_token',
      resource_id: token,
      metadata: { user_id: id },
    });
  return after;
}

/** What differs: the same studies or sites in another order are the same. */
const changesOf = (before: UserRow, { study_ids, site_ids, ...fields }: UserChange): string[] =>
  changedFields(
    { ...before },
    {
      ...fields,
      ...(study_ids && { study_ids: asStored(study_ids) }),
      ...(site_ids && { site_ids: asStored(site_ids) }),
    },
  );
const asStored = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))].sort();

/**
 * Ends access permanently: a reactivated user logs in again, creates new tokens, and gets in by no link that was mailed
 * before. @returns the ended tokens of /api/v1
 */
async function endAccess(tx: Tx, id: string): Promise<string[]> {
  await endUserLinks(tx, id);
  await revokeAllOf(tx, id);
  return revokeApiTokensOf(tx, id);
}

async function getUserOrThrow(tx: Tx, id: string): Promise<UserRow> {
  const user = await userById(tx, id);
  if (!user) throw problem('NOT_FOUND', { detail: 'There is no such user.' });
  return user;
}

async function requireKnown(tx: Tx, input: { study_ids?: string[]; site_ids?: string[] }): Promise<void> {
  const studies = input.study_ids ? await missingIds(tx, 'studies', input.study_ids) : [];
  if (studies.length > 0)
    throw brokenRule('study_ids', 'UNKNOWN_STUDY', `names studies that do not exist: ${studies.join(', ')}`);
  const sites = input.site_ids ? await missingIds(tx, 'sites', input.site_ids) : [];
  if (sites.length > 0)
    throw brokenRule('site_ids', 'UNKNOWN_SITE', `names sites that do not exist: ${sites.join(', ')}`);
}

/**
 * A user's sites after a change of studies or sites: those of removed studies are removed as well, so that access can
 * always be revoked. Undefined: unchanged.
 */
async function sitesAfter(
  tx: Tx,
  id: string,
  { study_ids, site_ids }: { study_ids?: string[]; site_ids?: string[] },
): Promise<string[] | undefined> {
  // Of two concurrent changes, one of studies and one of sites, the second sees the first one's result.
  await userSecretForUpdate(tx, id);
  const held = await getUserOrThrow(tx, id);
  if (site_ids) {
    await requireSitesWithin(tx, site_ids, study_ids ?? held.study_ids);
    return site_ids;
  }
  const outside = await sitesOutside(tx, held.site_ids, study_ids ?? held.study_ids);
  return outside.length === 0 ? undefined : held.site_ids.filter((site) => !outside.includes(site));
}

/**
 * Sites restrict access only in their own study: without any site in a study, a user would see all of it instead of a
 * part. Checked for every role, since the role can change without the sites.
 */
async function requireSitesWithin(tx: Tx, siteIds: readonly string[], studyIds: readonly string[]): Promise<void> {
  if (siteIds.length === 0) return;
  const outside = await sitesOutside(tx, siteIds, studyIds);
  if (outside.length === 0) return;
  const errors = siteIds.flatMap((id, index) =>
    outside.includes(id.toLowerCase())
      ? [
          {
            path: `site_ids.${index}`,
            code: 'SITE_OF_OTHER_STUDY',
            message: `site_ids.${index} (${id}) is a site of none of the user’s studies`,
          },
        ]
      : [],
  );
  throw problem('RULE_VIOLATED', {
    detail:
      `site_ids must be sites of the user’s studies (study_ids): ${outside.join(', ')} ` +
      `${outside.length === 1 ? 'is' : 'are'} not`,
    errors,
  });
}
