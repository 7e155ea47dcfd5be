import { Typed } from '../html/problem.js';
import { useUi } from '../html/ui.js';
import { Narrow } from './step.js';

/** After a login that ended while somebody typed: what was typed, to be taken along. */
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
