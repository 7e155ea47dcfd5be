import { Field, Form, Notice } from '../html/form.js';
import { useUi } from '../html/ui.js';
import { Narrow } from './login.page.js';

export function ForgotPage({ sent = false, wrong }: { sent?: boolean; wrong?: string }) {
  const { words } = useUi();
  return (
    <Narrow title={words.password.forgotTitle}>
      {sent && <Notice kind="good">{words.password.sent}</Notice>}
      {wrong && <Notice kind="alert">{wrong}</Notice>}
      {!sent && (
        <>
          <p>{words.password.forgotWhat}</p>
          <Form action="/console/forgot">
            <Field
              name="email"
              type="email"
              label={words.login.email}
              autocomplete="username"
              required
              maxLength={320}
            />
            <button class="primary">{words.password.forgotSubmit}</button>
          </Form>
        </>
      )}
      <p>
        <a href="/console/login">{words.password.toLogin}</a>
      </p>
    </Narrow>
  );
}

/** A password by a mailed link. Its token stands after the # of the address, which no server is told: a script fills it in. */
export function ResetPage({
  invitation,
  token,
  wrong,
  passwordError,
}: {
  invitation: boolean;
  token?: string;
  wrong?: string;
  passwordError?: string | undefined;
}) {
  const { words } = useUi();
  return (
    <Narrow title={invitation ? words.password.acceptTitle : words.password.resetTitle}>
      {invitation && <p>{words.password.acceptWhat}</p>}
      {wrong && <Notice kind="alert">{wrong}</Notice>}
      <Form action={invitation ? '/console/accept' : '/console/reset'} class="by-link">
        <Field
          name="token"
          label={words.password.token}
          hint={words.password.tokenHint}
          value={token}
          autocomplete="off"
          required
          maxLength={200}
        />
        <Field
          name="new_password"
          type="password"
          label={words.password.new}
          hint={words.password.newHint}
          error={passwordError}
          autocomplete="new-password"
          required
          minLength={12}
          maxLength={200}
        />
        <Field
          name="again"
          type="password"
          label={words.password.repeat}
          autocomplete="new-password"
          required
          maxLength={200}
        />
        {!invitation && (
          <label class="check">
            <input type="checkbox" name="revoke" value="1" /> {words.password.revoke}
          </label>
        )}
        <button class="primary">{words.password.submit}</button>
      </Form>
      <p>
        <a href="/console/login">{words.password.toLogin}</a>
      </p>
    </Narrow>
  );
}
