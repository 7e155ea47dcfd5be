import type { Statement } from '../client/one-trip.js';
import { UUID } from '../client/uuid.js';

/** A user's role in a participant's study and site. */
export interface UserPermissions {
  role: string;
  active: boolean;
  inStudy: boolean;
  inSite: boolean;
}

/**
 * Reads the user's current role in the participant's study and site; no row: none. A user with assigned sites is a
 * member for their participants only.
 */
export const permissionsStatement = (userId: string | null | undefined, participantId: string): Statement => ({
  sql: `select u.role, u.status = 'active' as active,
      u.role = 'admin' or exists (select from user_studies s
        where s.user_id = u.id and s.study_id = p.study_id) as "inStudy",
      u.role not in ('coordinator', 'investigator') or not exists (select from user_sites x
        join sites i on i.id = x.site_id where x.user_id = u.id and i.study_id = p.study_id)
        or exists (select from user_sites x where x.user_id = u.id and x.site_id = p.site_id) as "inSite"
    from users u, participants p where u.id = $1::uuid and p.id = $2`,
  values: [userId && UUID.test(userId) ? userId : null, participantId],
});
