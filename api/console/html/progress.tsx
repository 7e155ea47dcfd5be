import type { ComponentChildren } from 'preact';
import { useUi } from './ui.js';

/**
 * Work that goes on: a bar that asks for itself again until the work is done. Its words are a live region; who has no
 * JavaScript looks again by the link.
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
  /** The part that draws this again. */
  from: string;
  running: boolean;
  done: number;
  /** 0: not known yet. */
  total: number;
  /** What there is to say of it. */
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
