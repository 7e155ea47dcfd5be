import { Typed } from '../html/problem.js';
import { useUi } from '../html/ui.js';
import { Narrow } from './step.js';

/** After a login that expired during typing: the typed fields, to be copied. */
export function ResumedPage({ next, kept }: { next: string; kept: [string, string][] }) {
  const { words } = useUi();
  return (
    <Narrow title={words.login.resumed}>
      <p>{words.login.resumedWhat}</p>
      <Typed typed={kept} />
      <p>
        <a class="button" href={next}>
          {words.login.resumedBack}
        </a>
      </p>
    </Narrow>
  );
}
