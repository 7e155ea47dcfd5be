import type { Tx } from '../../../db/client/database.js';
import { listStudies } from '../../../db/studies/studies.queries.js';
import type { StudyRecord } from '../../../db/studies/studies.queries.js';
import { participantsByStudy, studyOverview } from '../../../db/console/study-overview.queries.js';
import type { StudyOverview } from '../../../db/console/study-overview.queries.js';
import { policyOf } from '../../../workflows/domain/anchor/facts.js';
import type { Policy } from '../../../workflows/domain/anchor/policy-schema.js';
import type { Actor, Role } from '../../http/access.js';
import { problem } from '../../http/errors.js';

export const PAGE_SIZE = 50;
/** The roles that enroll participants by hand. */
export const mayEnroll = (role: Role | undefined): boolean => role !== undefined && role !== 'data_manager';
/** Roles that change studies, as on the routes. */
export const mayConfigure = (role: Role | undefined): boolean => role === 'admin' || role === 'researcher';

export type ListedStudy = Omit<StudyRecord, 'config'> & { participants: number };
export interface StudyList {
  items: ListedStudy[];
  total: number;
  skip: number;
  search?: string | undefined;
}

/** Whether the caller sees any study: pages of all studies are empty for another reason then. */
export const seesStudy = async (tx: Tx): Promise<boolean> =>
  (await listStudies(tx, { skip: 0, limit: 1, sort: 'study_code' })).total > 0;

/** The studies visible to the caller, by code. */
export async function loadStudies(
  tx: Tx,
  { skip = 0, search }: { skip?: number; search?: string },
): Promise<StudyList> {
  const { items, total } = await listStudies(tx, { skip, limit: PAGE_SIZE, sort: 'study_code', search });
  const counts = await participantsByStudy(
    tx,
    items.map(({ id }) => id),
  );
  return { items: items.map((study) => ({ ...study, participants: counts.get(study.id) ?? 0 })), total, skip, search };
}

export type StudyView = StudyOverview & { policy: Policy };

/** A study's overview. Only admins see users, as everywhere. @throws 404 */
export async function loadStudyView(tx: Tx, actor: Pick<Actor, 'isAdmin'>, studyId: string): Promise<StudyView> {
  const found = await studyOverview(tx, studyId, { members: actor.isAdmin });
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  return { ...found, policy: policyOf(found.study.config.enrollment_date_policy) };
}
