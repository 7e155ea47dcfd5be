import { h } from 'preact';
import type { Tx } from '../../../db/client/database.js';
import { listUsersWithLinks, userWithLogins } from '../../../db/identity/users.queries.js';
import type { UserRow } from '../../../db/identity/users.queries.js';
import { studiesWithSites } from '../../../db/studies/sites.queries.js';
import { endLoginsOf, inviteAgain, inviteUser } from '../../identity/account.service.js';
import { resetMfa } from '../../identity/mfa.service.js';
import { Invite, RoleName, UserChange, UserStatus } from '../../identity/users.schemas.js';
import { changeUser } from '../../identity/users.service.js';
import { outsideStudy, roles } from '../../http/access.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import { etagOf } from '../../http/conventions/etag.js';
import { problem } from '../../http/errors.js';
import type { Problem } from '../../http/errors.js';
import { check } from '../../http/validation/validation.js';
import { consoleForm, consolePage } from '../routing/page.js';
import type { AgainInput } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import type { View } from '../routing/render.js';
import { chosenIn, mergedChoice, shownIn } from './access-fields.js';
import { UserPage, choiceOf, userNotices } from './user.page.js';
import type { UserChoice, UserNotice, UserShown } from './user.page.js';
import { InvitePage, PAGE_SIZE, USERS, UsersPage } from './users.page.js';

const access = outsideStudy(roles('admin'));
const Skip = Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 }));
const onePath = `${USERS}/{id}` as const;
const doneAt = (id: string, said: UserNotice): string => `${USERS}/${id}?said=${said}`;

/** Refuses a change if the user differs from the displayed one. @throws 409 STALE */
const asShown = (form: URLSearchParams) => (record: Record<string, unknown>) => {
  if (etagOf(record) !== form.get('shown_version')) throw problem('STALE');
};

async function shownUser(tx: Tx, id: string): Promise<UserShown> {
  const { user, logins, refused_link } = await userWithLogins(tx, id);
  if (!user) throw problem('NOT_FOUND', { detail: 'There is no such user.' });
  return { user, logins, refused_link, studies: await studiesWithSites(tx) };
}

type Refusal = Omit<AgainInput<string>, 'params'> & { params: { id: string } };
/** The user's page again, with the choices and the refusal. */
const again = async ({ read, params, form, fault, ui }: Refusal): Promise<View> => {
  const shown = await read((tx) => shownUser(tx, params.id));
  const choice = form.has('role') ? choiceAgain(shown.user, form, fault) : undefined;
  return { title: ui.words.users.title, content: h(UserPage, { shown, fault, ...(choice && { choice }) }) };
};

/**
 * The refused choice. It keeps what its page showed first, so that a change of somebody else is not overwritten; once
 * that is shown, what was left alone has the stored value.
 */
function choiceAgain(user: UserRow, form: URLSearchParams, fault: Problem): UserChoice {
  const chosen = chosenIn(form);
  const seen = shownIn(form) ?? user;
  if (fault.code === 'STALE') return { ...choiceOf(user), chosen: mergedChoice(chosen, seen, user) };
  return { chosen, seen, version: form.get('shown_version') ?? '' };
}

const change = { access, transaction: 'change' } as const;

export const userPages = [
  consolePage({
    path: USERS,
    summary: 'Show the users',
    access,
    transaction: 'read',
    query: Type.Object({ skip: Skip, role: Type.Optional(RoleName), status: Type.Optional(UserStatus) }),
    view: async ({ tx, query: { skip = 0, ...asked }, ui }) => ({
      title: ui.words.users.title,
      content: h(UsersPage, {
        ...(await listUsersWithLinks(tx, { ...asked, skip, limit: PAGE_SIZE, sort: 'name' })),
        skip,
        asked,
      }),
    }),
  }),
  consoleForm({
    path: `${USERS}/search`,
    summary: 'Search for users by a part of name or email',
    access,
    transaction: 'read',
    fields: Type.Object({ search: text(200, 1), skip: Type.Optional(Type.String({ pattern: '^[0-9]{1,6}$' })) }),
    submit: async ({ tx, form, ui }) => {
      const searched = form.get('search')!.trim();
      const skip = Number(form.get('skip') ?? 0);
      const found = await listUsersWithLinks(tx, { search: searched, skip, limit: PAGE_SIZE, sort: 'name' });
      return { title: ui.words.users.title, content: h(UsersPage, { ...found, skip, searched }) };
    },
  }),
  consolePage({
    path: `${USERS}/search`,
    summary: 'Go to the users',
    access,
    view: () => redirect(USERS),
  }),
  consolePage({
    path: `${USERS}/invite`,
    summary: 'Show the form that invites a user',
    access,
    transaction: 'read',
    view: async ({ tx, ui }) => ({
      title: ui.words.users.invite,
      content: h(InvitePage, {
        studies: await studiesWithSites(tx),
        chosen: { role: 'coordinator', study_ids: [], site_ids: [] },
      }),
    }),
  }),
  consoleForm({
    path: `${USERS}/invite`,
    summary: 'Invite a user in the console',
    access,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, form }) => {
      const given = {
        email: form.get('email')?.trim() ?? '',
        name: form.get('name')?.trim() ?? '',
        ...chosenIn(form),
      };
      check(Invite, given, 'body');
      const { id } = await inviteUser({ tx, audit, actor, context }, given);
      return redirect(doneAt(id, 'invited'));
    },
    again: async ({ read, form, fault, ui }) => ({
      title: ui.words.users.invite,
      content: h(InvitePage, {
        studies: await read((tx) => studiesWithSites(tx)),
        chosen: chosenIn(form),
        typed: { email: form.get('email') ?? '', name: form.get('name') ?? '' },
        fault,
      }),
    }),
  }),
  consolePage({
    path: onePath,
    summary: 'Show a user',
    access,
    transaction: 'read',
    query: Type.Object({ said: Type.Optional(oneOf(...userNotices)) }),
    view: async ({ tx, params, query, ui }) => {
      const shown = await shownUser(tx, params.id);
      return { title: ui.words.users.title, content: h(UserPage, { shown, said: query.said }) };
    },
  }),
  consoleForm({
    ...change,
    again: (input) => again(input),
    path: onePath,
    summary: 'Change a user’s role, studies and sites in the console',
    submit: async ({ tx, audit, actor, context, services, params, form }) => {
      const chosen = chosenIn(form);
      check(UserChange, chosen, 'body');
      await changeUser({ tx, audit, actor, context, services }, params.id, chosen, asShown(form));
      return redirect(doneAt(params.id, 'saved'));
    },
  }),
  consoleForm({
    ...change,
    again: (input) => again(input),
    path: `${onePath}/status`,
    summary: 'Deactivate or reactivate a user in the console',
    submit: async ({ tx, audit, actor, context, services, params, form }) => {
      const given = { status: form.get('status') ?? '' };
      check(UserChange, given, 'body');
      await changeUser({ tx, audit, actor, context, services }, params.id, given, asShown(form));
      return redirect(doneAt(params.id, 'saved'));
    },
  }),
  consoleForm({
    ...change,
    again: (input) => again(input),
    path: `${onePath}/mfa-reset`,
    summary: 'Reset a user’s second factor in the console',
    submit: async ({ tx, audit, actor, context, params }) => {
      await resetMfa({ tx, audit, actor, context }, params.id);
      return redirect(doneAt(params.id, 'factorDone'));
    },
  }),
  consoleForm({
    ...change,
    again: (input) => again(input),
    path: `${onePath}/logout-all`,
    summary: 'End all logins of a user in the console',
    submit: async ({ tx, audit, actor, context, params }) => {
      await endLoginsOf({ tx, audit, actor, context }, params.id);
      return redirect(doneAt(params.id, 'ended'));
    },
  }),
  consoleForm({
    ...change,
    again: (input) => again(input),
    path: `${onePath}/invite`,
    summary: 'Send a user another invitation in the console',
    submit: async ({ tx, audit, actor, context, services, params }) => {
      await inviteAgain({ tx, audit, actor, context }, services.settings, params.id);
      return redirect(doneAt(params.id, 'invited'));
    },
  }),
];
