import { membersOfStudy } from '../../../../db/console/study-members.queries.js';
import type { StudyMembers } from '../../../../db/console/study-members.queries.js';
import { userById, userSecretByEmail, userSecretForUpdate } from '../../../../db/identity/users.queries.js';
import type { UserRow } from '../../../../db/identity/users.queries.js';
import type { Tx } from '../../../../db/client/database.js';
import { problem } from '../../../http/errors.js';
import { check } from '../../../http/validation/validation.js';
import { UserChange } from '../../../identity/users.schemas.js';
import { changeUser } from '../../../identity/users.service.js';
import type { UserChanging } from '../../../identity/users.service.js';

export type MembersView = Omit<StudyMembers, 'study'> & { study: NonNullable<StudyMembers['study']> };
type Unchanged = (record: Record<string, unknown>) => void;

/** @throws 404 for an unknown study */
export async function loadMembers(tx: Tx, studyId: string, skip = 0): Promise<MembersView> {
  const { study, ...found } = await membersOfStudy(tx, studyId, skip);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  return { ...found, study };
}

/** @throws 404 for a user who is no member of the study */
export async function memberOf(tx: Tx, studyId: string, userId: string): Promise<UserRow> {
  const user = await userById(tx, userId);
  if (!user?.study_ids.includes(studyId)) throw problem('NOT_FOUND', { detail: 'There is no such member.' });
  return user;
}

/**
 * Assigns the user of an email to a study, with all or some of its sites. Existing members stay as they are. @throws
 * 404, 400
 */
export async function addMember(
  change: UserChanging,
  studyId: string,
  input: { email: string; site_ids: string[] },
): Promise<void> {
  const found = await userSecretByEmail(change.tx, input.email.trim());
  // Of two concurrent assignments of a user, the second sees the first one's result.
  if (found) await userSecretForUpdate(change.tx, found.id);
  const user = found && (await userById(change.tx, found.id));
  if (user?.status !== 'active') {
    const message = 'There is no active account with this email.';
    throw problem('NOT_FOUND', { detail: message, errors: [{ path: 'email', code: 'NO_SUCH_USER', message }] });
  }
  if (user.study_ids.includes(studyId)) return;
  const to = { study_ids: [...user.study_ids, studyId], site_ids: [...user.site_ids, ...input.site_ids] };
  check(UserChange, to, 'body');
  await changeUser(change, user.id, to, () => undefined);
}

/**
 * Changes a member's role or sites in this study; those of other studies stay.
 * @param ofStudy the sites of this study
 * @throws 404, 409 STALE or LAST_ADMIN, 400, 422
 */
export async function changeMember(
  change: UserChanging,
  user: UserRow,
  input: { role: string; site_ids: string[] },
  ofStudy: readonly string[],
  unchanged: Unchanged,
): Promise<void> {
  const elsewhere = user.site_ids.filter((id) => !ofStudy.includes(id));
  const to = { role: input.role, site_ids: [...elsewhere, ...input.site_ids] };
  check(UserChange, to, 'body');
  await changeUser(change, user.id, to, unchanged);
}

/** Removes a member, and its sites in this study. @throws 404, 409 STALE */
export async function endMembership(
  change: UserChanging,
  user: UserRow,
  studyId: string,
  unchanged: Unchanged,
): Promise<void> {
  await changeUser(change, user.id, { study_ids: user.study_ids.filter((id) => id !== studyId) }, unchanged);
}
