import type { ComponentChildren } from 'preact';

/** What a list says that has nothing: that this is well, or what to do first. */
export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
    </div>
  );
}
