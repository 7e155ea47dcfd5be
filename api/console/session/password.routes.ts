import { h } from 'preact';
import { anyone } from '../../http/access.js';
import { Email, Type, text } from '../../http/common.schemas.js';
import { brokenRule } from '../../http/errors.js';
import type { Problem } from '../../http/errors.js';
import { forgotPassword, resetPassword } from '../../identity/account.service.js';
import { Password } from '../../identity/users.schemas.js';
import { errorOf } from '../html/form.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { refusalOf } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { ForgotPage, ResetPage } from './password.page.js';

/** The message of a refusal without a field. */
const saidOf = ({ words }: Ui, fault: Problem): string =>
  fault.code === 'INVALID_LINK' ? words.password.invalid : refusalOf(words, fault).what;

/** The page of a mailed link, and the target of its form. */
const byLink = (path: '/console/reset' | '/console/accept', summary: string, invitation: boolean) => {
  const title = ({ words }: Ui) => (invitation ? words.password.acceptTitle : words.password.resetTitle);
  return [
    consolePage({
      path,
      summary,
      access: anyone,
      view: ({ ui }) => ({ title: title(ui), content: h(ResetPage, { invitation }) }),
    }),
    consoleForm({
      path,
      summary: `${summary}: save it`,
      access: anyone,
      rateLimit: 'auth',
      fields: Type.Object({ token: text(200, 1), new_password: Password, again: Type.String() }),
      submit: async ({ services, context, form, ui }) => {
        const new_password = form.get('new_password')!;
        if (form.get('again') !== new_password)
          throw brokenRule('new_password', 'PASSWORDS_DIFFER', ui.words.password.differ);
        const revoke_api_tokens = form.get('revoke') === '1';
        await resetPassword(services, { token: form.get('token')!.trim(), new_password, revoke_api_tokens }, context);
        return redirect('/console/login?saved=1');
      },
      again: ({ ui, form, fault }) => {
        const differ = fault.options.errors?.some(({ code }) => code === 'PASSWORDS_DIFFER');
        const passwordError = differ ? ui.words.password.differ : errorOf(fault, 'new_password', ui.words);
        return {
          title: title(ui),
          content: h(ResetPage, {
            invitation,
            token: form.get('token') ?? '',
            passwordError,
            ...(passwordError === undefined && { wrong: saidOf(ui, fault) }),
          }),
        };
      },
    }),
  ];
};

export const passwordRoutes = [
  consolePage({
    path: '/console/forgot',
    summary: 'Request a password reset link in the console',
    access: anyone,
    view: ({ ui }) => ({ title: ui.words.password.forgotTitle, content: h(ForgotPage, { sent: false }) }),
  }),
  consoleForm({
    path: '/console/forgot',
    summary: 'Request a password reset link in the console: send it',
    access: anyone,
    fields: Type.Object({ email: Email }),
    submit: async ({ services, form, context, ui }) => {
      await forgotPassword(services, form.get('email')!, context, ui.language);
      return { title: ui.words.password.forgotTitle, content: h(ForgotPage, { sent: true }) };
    },
    again: ({ ui, fault }) => ({
      title: ui.words.password.forgotTitle,
      content: h(ForgotPage, { wrong: saidOf(ui, fault) }),
    }),
  }),
  ...byLink('/console/reset', 'Choose a new password by a mailed link', false),
  ...byLink('/console/accept', 'Accept an invitation by a mailed link', true),
];
