import { h } from 'preact';
import type { UserRow } from '../../../../db/identity/users.queries.js';
import { outsideStudy, roles } from '../../../http/access.js';
import { Type, Uuid, oneOf, text } from '../../../http/common.schemas.js';
import { check } from '../../../http/validation/validation.js';
import { assertFormVersion } from '../../routing/form-version.js';
import { consoleForm, consolePage } from '../../routing/page.js';
import type { AgainInput } from '../../routing/page.js';
import { redirect } from '../../routing/render.js';
import type { View } from '../../routing/render.js';
import { editOf } from '../edit/edit.js';
import type { RefusedForm } from '../edit/edit.js';
import { MemberPage, MembersPage, memberNotices } from './members.page.js';
import { addMember, changeMember, endMembership, loadMembers, memberOf } from './members.service.js';
import type { MembersView } from './members.service.js';

/** The parameter is not `study_id`, which would narrow the transaction to the study. */
const list = '/console/studies/{id}/members';
const one = `${list}/{user_id}` as const;
/** As for the users routes: a user may have other studies. */
const access = outsideStudy(roles('admin'));
const Chosen = Type.Object({ email: text(320, 1), site_ids: Type.Array(Uuid) });
const Skip = Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 }));

const newMember = (sent?: RefusedForm) => editOf(undefined, { email: '', site_ids: '' }, sent);
/** The fields of a member that this page changes. */
const memberEdit = (user: UserRow, view: MembersView, sent?: RefusedForm) => {
  const ofStudy = view.sites.map(({ id }) => id);
  const sites = user.site_ids.filter((id) => ofStudy.includes(id));
  return editOf(user, { role: user.role, site_ids: [...sites].sort().join(',') }, sent);
};
const ids = (params: { id: string; user_id: string }) => ({
  studyId: params.id.toLowerCase(),
  userId: params.user_id.toLowerCase(),
});

type Refused = Omit<AgainInput<string>, 'params'> & { params: { id: string; user_id: string } };
/** The member's page again. */
const again = ({ read, params, form, fault, ui }: Refused): Promise<View> =>
  read(async (tx) => {
    const { studyId, userId } = ids(params);
    const user = await memberOf(tx, studyId, userId);
    const view = await loadMembers(tx, studyId);
    // The form that removes a member has no fields.
    const edit = form.has('role') ? memberEdit(user, view, { form, fault }) : { ...memberEdit(user, view), fault };
    return { title: ui.words.edit.tabs.members, content: h(MemberPage, { user, view, edit }) };
  });

export const memberPages = [
  consolePage({
    path: list,
    summary: 'Show the members of a study',
    access,
    transaction: 'read',
    query: Type.Object({ said: Type.Optional(oneOf(...memberNotices)), skip: Skip }),
    view: async ({ tx, params, query, ui }) => {
      const { skip = 0, said } = query;
      const view = await loadMembers(tx, params.id.toLowerCase(), skip);
      const content = h(MembersPage, { view, edit: newMember(), said, skip });
      return { title: ui.words.edit.tabs.members, content };
    },
  }),
  consoleForm({
    path: list,
    summary: 'Assign a user to a study',
    access,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, services, params, form }) => {
      const studyId = params.id.toLowerCase();
      const email = form.get('email') ?? '';
      const given = { ...(email !== '' && { email }), site_ids: form.getAll('site_ids') };
      check(Chosen, given, 'body');
      await loadMembers(tx, studyId);
      await addMember({ tx, audit, actor, context, services }, studyId, { ...given, email });
      return redirect(`/console/studies/${studyId}/members?said=added`);
    },
    again: ({ read, params, form, fault, ui }) =>
      read(async (tx) => {
        const view = await loadMembers(tx, params.id.toLowerCase());
        const content = h(MembersPage, { view, edit: newMember({ form, fault }) });
        return { title: ui.words.edit.tabs.members, content };
      }),
  }),
  consolePage({
    path: one,
    summary: 'Show a member of a study',
    access,
    transaction: 'read',
    view: async ({ tx, params, ui }) => {
      const { studyId, userId } = ids(params);
      const view = await loadMembers(tx, studyId);
      const user = await memberOf(tx, studyId, userId);
      const content = h(MemberPage, { view, user, edit: memberEdit(user, view) });
      return { title: ui.words.edit.tabs.members, content };
    },
  }),
  consoleForm({
    path: one,
    summary: 'Change the role and sites of a member',
    access,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, services, params, form }) => {
      const { studyId, userId } = ids(params);
      const user = await memberOf(tx, studyId, userId);
      const { sites } = await loadMembers(tx, studyId);
      const given = { role: form.get('role') ?? '', site_ids: form.getAll('site_ids') };
      const ofStudy = sites.map(({ id }) => id);
      await changeMember({ tx, audit, actor, context, services }, user, given, ofStudy, assertFormVersion(form));
      return redirect(`/console/studies/${studyId}/members?said=changed`);
    },
    again,
  }),
  consoleForm({
    path: `${one}/end`,
    summary: 'End a membership',
    access,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, services, params, form }) => {
      const { studyId, userId } = ids(params);
      const user = await memberOf(tx, studyId, userId);
      await endMembership({ tx, audit, actor, context, services }, user, studyId, assertFormVersion(form));
      return redirect(`/console/studies/${studyId}/members?said=removed`);
    },
    again,
  }),
];
