import type { Tx } from '../../db/knex.js';
import { prepared } from '../../db/prepared.js';
import { approverRoles } from '../../workflows/domain/approvers.js';
import type { Policy } from '../../workflows/domain/policy-schema.js';
import type { FactRow } from '../../db/queries/facts.js';

export interface Standing {
  role: string;
  active: boolean;
  inStudy: boolean;
  inSite: boolean;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Who this user is to the participant's study and site, as the database says now; null: nobody. */
export async function standingOf(tx: Tx, userId: string | null | undefined, row: FactRow): Promise<Standing | null> {
  if (!userId || !UUID.test(userId)) return null;
  const [standing] = await prepared<Standing>(
    tx,
    `select u.role, u.status = 'active' as active,
       u.role = 'admin' or exists (select from user_studies s where s.user_id = u.id and s.study_id = $1) as "inStudy",
       u.role not in ('coordinator', 'investigator') or not exists (select from user_sites x join sites i on i.id = x.site_id where x.user_id = u.id and i.study_id = $1)
         or exists (select from user_sites x where x.user_id = u.id and x.site_id = $2) as "inSite"
     from users u where u.id = $3`,
    [row.study_id, row.site_id, userId],
  );
  return standing ?? null;
}

const member = (standing: Standing | null): standing is Standing =>
  standing !== null && standing.active && standing.inStudy && standing.inSite;

/** The policy's `can_set`. */
export const maySet = (standing: Standing | null, policy: Policy): boolean =>
  member(standing) && (policy.permissions.can_set as string[]).includes(standing.role);

/** The policy's `can_override`. */
export const mayOverride = (standing: Standing | null, policy: Policy): boolean =>
  member(standing) && (policy.permissions.can_override as string[]).includes(standing.role);

/** The policy's approvers. */
export const mayApprove = (standing: Standing | null, policy: Policy): boolean =>
  member(standing) && approverRoles(policy).includes(standing.role);
