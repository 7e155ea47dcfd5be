import { Field, Notice } from '../html/form.js';
import { useUi } from '../html/ui.js';
import { QrCode } from './qr-code.js';
import { Step } from './step.js';

/** Data carried through a login: the target page, and the typed fields of a form whose login had expired. */
export interface LoginCarries {
  next: string;
  kept?: [string, string][];
}

export function CarriedFields({ next, kept = [] }: LoginCarries) {
  return (
    <>
      <input type="hidden" name="next" value={next} />
      {kept.length > 0 && <input type="hidden" name="kept" value={JSON.stringify(kept)} />}
    </>
  );
}

export function LoginPage({
  next,
  kept = [],
  email,
  wrong,
  ended = false,
  said,
}: LoginCarries & { email?: string; wrong?: string; ended?: boolean; said?: string }) {
  const { words } = useUi();
  return (
    <Step
      title={words.login.title}
      wrong={wrong}
      action="/console/login"
      submit={words.login.submit}
      other={['/console/forgot', words.login.forgot]}
      before={
        <>
          {!ended && next !== '/console/inbox' && (
            <p class="quiet">{next.startsWith('/console/approvals/') ? words.login.toApproval : words.login.toPage}</p>
          )}
          {ended && <Notice>{words.login.ended}</Notice>}
          {said && <Notice kind="good">{said}</Notice>}
          {kept.length > 0 && <Notice>{words.login.typedKept}</Notice>}
        </>
      }
    >
      <CarriedFields next={next} kept={kept} />
      <EmailField value={email} autofocus={!email} />
      <Field
        name="password"
        type="password"
        label={words.login.password}
        autocomplete="current-password"
        required
        autofocus={Boolean(email)}
        maxLength={1000}
      />
    </Step>
  );
}

/** The user's email address. */
export function EmailField({ value, autofocus }: { value?: string | undefined; autofocus?: boolean | undefined }) {
  const { words } = useUi();
  return (
    <Field
      name="email"
      type="email"
      label={words.login.email}
      value={value}
      autocomplete="username"
      required
      autofocus={autofocus}
      maxLength={320}
    />
  );
}

export function CodePage({ wrong, ...carried }: LoginCarries & { wrong?: string }) {
  const { login } = useUi().words;
  return (
    <Step
      title={login.codeTitle}
      wrong={wrong}
      action="/console/login/code"
      submit={login.codeSubmit}
      other={['/console/login', login.startOver]}
    >
      <CarriedFields {...carried} />
      <Field
        name="code"
        label={login.code}
        hint={login.codeHint}
        autocomplete="one-time-code"
        required
        autofocus
        maxLength={100}
      />
    </Step>
  );
}

/** A new second factor, as the service gives it once. */
export interface NewFactor {
  secret: string;
  otpauth_url: string;
  recovery_codes: string[];
}

/**
 * The key of a new second factor, and its first code. The form keeps what was made: after a wrong code the key can be
 * compared, and who has not written down the recovery codes yet does not lose them.
 */
export function SetupPage({
  made,
  wrong,
  ...carried
}: LoginCarries & { made?: NewFactor | undefined; wrong?: string }) {
  const { login } = useUi().words;
  return (
    <Step
      title={login.setupTitle}
      wrong={wrong}
      action="/console/login/setup"
      submit={login.codeSubmit}
      other={['/console/login', login.startOver]}
      before={made && <ShownFactor made={made} />}
    >
      <CarriedFields {...carried} />
      {made && <input type="hidden" name="made_secret" value={JSON.stringify(made)} />}
      <Field
        name="code"
        label={login.setupCode}
        autocomplete="one-time-code"
        inputMode="numeric"
        required
        maxLength={6}
      />
    </Step>
  );
}

function ShownFactor({ made }: { made: NewFactor }) {
  const { login } = useUi().words;
  return (
    <>
      <p>{login.setupWhat}</p>
      <QrCode text={made.otpauth_url} label={login.setupCodeImage} />
      <h2>{login.setupKey}</h2>
      <p>
        <code id="secret">{made.secret}</code>
      </p>
      <p>
        <a href={made.otpauth_url}>{login.setupOpen}</a>
      </p>
      <h2>{login.setupRecovery}</h2>
      <p>{login.setupRecoveryWhat}</p>
      <ul class="codes">
        {made.recovery_codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
    </>
  );
}
