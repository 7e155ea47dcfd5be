import { queryAll } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface StudyMember {
  id: string;
  name: string;
  email: string;
  role: string;
  status: string;
  sites: string[];
}
export interface MemberCandidate {
  id: string;
  name: string;
  email: string;
  role: string;
}
export interface SiteOfStudy {
  id: string;
  site_code: string;
  name: string | null;
}
export interface StudyMembers {
  study: { id: string; study_code: string } | undefined;
  /** One page of them. */
  members: StudyMember[];
  total: number;
  /** Some active users who are not members. */
  candidates: MemberCandidate[];
  sites: SiteOfStudy[];
}

/** The members of one page. */
export const MEMBERS_PAGE = 50;
/** The most candidates suggested; others are added by their email as well. */
const MAX_LISTED = 100;

/** A page of a study's members with their sites, and some candidates, in one round trip. */
export async function membersOfStudy(tx: Tx, studyId: string, skip = 0): Promise<StudyMembers> {
  const [[study], members, counts, candidates, sites] = await queryAll<
    [{ id: string; study_code: string }, StudyMember, { n: number }, MemberCandidate, SiteOfStudy]
  >(tx, [
    { sql: 'select id, study_code from studies where id = $1', values: [studyId] },
    {
      sql: `select u.id, u.name, u.email, u.role, u.status,
          coalesce((select jsonb_agg(s.site_code order by s.site_code) from user_sites a
            join sites s on s.id = a.site_id where a.user_id = u.id and s.study_id = $1), '[]') as sites
        from user_studies m join users u on u.id = m.user_id where m.study_id = $1 order by u.status, u.name,
          u.id offset $2 limit ${MEMBERS_PAGE}`,
      values: [studyId, skip],
    },
    { sql: 'select count(*)::int as n from user_studies where study_id = $1', values: [studyId] },
    {
      sql: `select u.id, u.name, u.email, u.role from users u where u.status = 'active'
          and not exists (select from user_studies m where m.user_id = u.id and m.study_id = $1)
            order by u.name, u.email limit ${MAX_LISTED}`,
      values: [studyId],
    },
    { sql: 'select id, site_code, name from sites where study_id = $1 order by site_code', values: [studyId] },
  ]);
  return { study, members, total: counts[0]!.n, candidates, sites };
}
