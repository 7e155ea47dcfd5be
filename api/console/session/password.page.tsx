import { Field, Notice } from '../html/form.js';
import { useUi } from '../html/ui.js';
import { EmailField } from './login.page.js';
import { Narrow, Step } from './step.js';

export function ForgotPage({ sent = false, wrong }: { sent?: boolean; wrong?: string }) {
  const { password } = useUi().words;
  if (sent)
    return (
      <Narrow title={password.forgotTitle}>
        <Notice kind="good">{password.sent}</Notice>
        <p>
          <a href="/console/login">{password.toLogin}</a>
        </p>
      </Narrow>
    );
  return (
    <Step
      title={password.forgotTitle}
      wrong={wrong}
      before={<p>{password.forgotWhat}</p>}
      action="/console/forgot"
      submit={password.forgotSubmit}
      other={['/console/login', password.toLogin]}
    >
      <EmailField />
    </Step>
  );
}

/**
 * A new password by a mailed link. Its token follows the # of the address, which is not sent to servers: a script fills
 * it in.
 */
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
  const { password } = useUi().words;
  return (
    <Step
      title={invitation ? password.acceptTitle : password.resetTitle}
      wrong={wrong}
      before={invitation && <p>{password.acceptWhat}</p>}
      action={invitation ? '/console/accept' : '/console/reset'}
      byLink
      submit={password.submit}
      other={['/console/login', password.toLogin]}
    >
      <Field
        name="token"
        label={password.token}
        hint={password.tokenHint}
        value={token}
        autocomplete="off"
        required
        maxLength={200}
      />
      <Field
        name="new_password"
        type="password"
        label={password.new}
        hint={password.newHint}
        error={passwordError}
        autocomplete="new-password"
        required
        minLength={12}
        maxLength={200}
      />
      <Field
        name="again"
        type="password"
        label={password.repeat}
        autocomplete="new-password"
        required
        maxLength={200}
      />
      {!invitation && (
        <label class="check">
          <input type="checkbox" name="revoke" value="1" /> {password.revoke}
        </label>
      )}
    </Step>
  );
}
