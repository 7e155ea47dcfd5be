import type { ComponentChildren } from 'preact';
import { Form, Notice } from '../html/form.js';

/** A small centered page. */
export function Narrow({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="narrow card">
      <h1>{title}</h1>
      {children}
    </section>
  );
}

/** A step of the login: one form, its error, and an alternative. */
export function Step({
  title,
  wrong,
  before,
  action,
  byLink = false,
  submit,
  other: [href, label],
  children,
}: {
  title: string;
  wrong?: string | undefined;
  /** Text above the form. */
  before?: ComponentChildren;
  action: string;
  /** A script fills in its token from the address. */
  byLink?: boolean;
  submit: string;
  /** Address and text of the link below. */
  other: readonly [string, string];
  children: ComponentChildren;
}) {
  return (
    <Narrow title={title}>
      {before}
      {wrong && <Notice kind="alert">{wrong}</Notice>}
      <Form action={action} {...(byLink && { class: 'by-link' })}>
        {children}
        <button class="primary">{submit}</button>
      </Form>
      <p>
        <a href={href}>{label}</a>
      </p>
    </Narrow>
  );
}
