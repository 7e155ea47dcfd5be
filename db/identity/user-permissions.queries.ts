import { prepared } from '../client/prepared.js';
import type { Tx } from '../client/database.js';

/** Who a user is to a participant's study and site. */
export interface UserPermissions {
  role: string;
  active: boolean;
  inStudy: boolean;
  inSite: boolean;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Reads who this user is to the participant's study and site, as the database says now; null: nobody. A user with
 * assigned sites is in the study for their participants alone.
 */
export async function loadPermissions(
  tx: Tx,
  userId: string | null | undefined,
  { study_id, site_id }: { study_id: string; site_id: string | null },
): Promise<UserPermissions | null> {
  if (!userId || !UUID.test(userId)) return null;
  const [permissions] = await prepared<UserPermissions>(
    tx,
    `select u.role, u.status = 'active' as active,
       u.role = 'admin' or exists (select from user_studies s where s.user_id = u.id and s.study_id = $1) as "inStudy",
       u.role not in ('coordinator', 'investigator') or not exists (select from user_sites x join sites i on i.id = x.site_id where x.user_id = u.id and i.study_id = $1)
         or exists (select from user_sites x where x.user_id = u.id and x.site_id = $2) as "inSite"
     from users u where u.id = $3`,
    [study_id, site_id, userId],
  );
  return permissions ?? null;
}
