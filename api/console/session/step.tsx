import type { ComponentChildren } from 'preact';
import { Form, Notice } from '../html/form.js';

/** A small page in the middle. */
export function Narrow({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="narrow card">
      <h1>{title}</h1>
      {children}
    </section>
  );
}

/** A step of the way in: one form, what was wrong with it, and another way. */
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
  /** What is said above the form. */
  before?: ComponentChildren;
  action: string;
  /** Its token is filled in from the address. */
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
