import type { ComponentChildren } from 'preact';
import { useUi } from './ui.js';

/**
 * Work in progress: a bar that reloads until the work is done. Its text is a live region; without JavaScript a link
 * reloads it.
 */
export function Progress({
  id,
  label,
  from,
  running,
  done,
  total,
  children,
}: {
  id: string;
  label: string;
  /** The URL of the part that redraws it. */
  from: string;
  running: boolean;
  done: number;
  /** 0: unknown yet. */
  total: number;
  /** Further text. */
  children?: ComponentChildren;
}) {
  const { words, path } = useUi();
  return (
    <div
      id={id}
      class="progress"
      {...(running && { 'hx-get': from, 'hx-trigger': 'every 1s', 'hx-swap': 'outerHTML' })}
    >
      {running && (
        <>
          <progress aria-label={label} {...(total > 0 && { value: Math.min(done, total), max: total })} />
          <noscript>
            <a href={path}>{words.capture.lookAgain}</a>
          </noscript>
        </>
      )}
      <div role="status">{children}</div>
    </div>
  );
}
