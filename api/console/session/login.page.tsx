import type { ComponentChildren } from 'preact';
import { Field, Form, Notice } from '../html/form.js';
import { useUi } from '../html/ui.js';

/** What a login carries on: where it leads, and what was typed into a form whose login had ended. */
export interface LoginCarries {
  next: string;
  kept?: [string, string][];
}

/** A small page in the middle: login and password. */
export function Narrow({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="narrow card">
      <h1>{title}</h1>
      {children}
    </section>
  );
}

export function Carried({ next, kept = [] }: LoginCarries) {
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
    <Narrow title={words.login.title}>
      {ended && <Notice>{words.login.ended}</Notice>}
      {said && <Notice kind="good">{said}</Notice>}
      {kept.length > 0 && <Notice>{words.login.typedKept}</Notice>}
      {wrong && <Notice kind="alert">{wrong}</Notice>}
      <Form action="/console/login">
        <Carried next={next} kept={kept} />
        <Field
          name="email"
          type="email"
          label={words.login.email}
          value={email}
          autocomplete="username"
          required
          maxLength={320}
        />
        <Field
          name="password"
          type="password"
          label={words.login.password}
          autocomplete="current-password"
          required
          maxLength={1000}
        />
        <button class="primary">{words.login.submit}</button>
      </Form>
      <p>
        <a href="/console/forgot">{words.login.forgot}</a>
      </p>
    </Narrow>
  );
}

export function CodePage({ wrong, ...carried }: LoginCarries & { wrong?: string }) {
  const { words } = useUi();
  return (
    <Narrow title={words.login.codeTitle}>
      {wrong && <Notice kind="alert">{wrong}</Notice>}
      <Form action="/console/login/code">
        <Carried {...carried} />
        <Field
          name="code"
          label={words.login.code}
          hint={words.login.codeHint}
          autocomplete="one-time-code"
          required
          autofocus
          maxLength={100}
        />
        <button class="primary">{words.login.codeSubmit}</button>
      </Form>
      <p>
        <a href="/console/login">{words.login.startOver}</a>
      </p>
    </Narrow>
  );
}

/** The key of a new second factor, and its first code. Without `made` it was shown before. */
export function SetupPage({
  made,
  wrong,
  ...carried
}: LoginCarries & { made?: { secret: string; otpauth_url: string; recovery_codes: string[] }; wrong?: string }) {
  const { words } = useUi();
  return (
    <Narrow title={words.login.setupTitle}>
      {wrong && <Notice kind="alert">{wrong}</Notice>}
      {made && (
        <>
          <p>{words.login.setupWhat}</p>
          <h2>{words.login.setupKey}</h2>
          <p>
            <code id="secret">{made.secret}</code>
          </p>
          <p>
            <a href={made.otpauth_url}>{words.login.setupOpen}</a>
          </p>
          <h2>{words.login.setupRecovery}</h2>
          <p>{words.login.setupRecoveryWhat}</p>
          <ul class="codes">
            {made.recovery_codes.map((code) => (
              <li key={code}>
                <code>{code}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      <Form action="/console/login/setup">
        <Carried {...carried} />
        <Field
          name="code"
          label={words.login.setupCode}
          autocomplete="one-time-code"
          inputMode="numeric"
          required
          maxLength={6}
        />
        <button class="primary">{words.login.codeSubmit}</button>
      </Form>
      <p>
        <a href="/console/login">{words.login.startOver}</a>
      </p>
    </Narrow>
  );
}
