import type { ComponentChildren } from 'preact';

/** The message of an empty list: that this is fine, or what to do first. */
export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
    </div>
  );
}
