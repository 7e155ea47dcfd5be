import type { Problem } from '../../http/errors.js';
import { fieldName, refusalOf } from './refusal.js';
import { useUi } from './ui.js';

/** The error in words, with a next step and the typed fields, so that nothing is lost. */
export function ProblemPage({
  fault,
  requestId,
  typed = [],
  back = '/console/inbox',
}: {
  fault: Problem;
  requestId: string;
  typed?: [string, string][];
  back?: string;
}) {
  const { words } = useUi();
  const { title, what, detail } = refusalOf(words, fault);
  return (
    <section class="narrow">
      <h1>{title}</h1>
      <p>{what}</p>
      {detail && (
        <p class="quiet" lang="en">
          {detail}
        </p>
      )}
      <Typed typed={typed} />
      <p>
        <a class="button" href={back}>
          {words.problems.back}
        </a>
      </p>
      <p class="quiet">
        {words.problems.reference} <code>{requestId}</code>
      </p>
    </section>
  );
}

/** The typed fields of a form that was not sent, by their names or labels. */
export function Typed({ typed }: { typed: [string, string][] }) {
  const { words } = useUi();
  const given = typed.filter(([, value]) => value !== '');
  if (given.length === 0) return null;
  return (
    <div class="typed">
      <h2>{words.problems.typed}</h2>
      {given.map(([name, value]) => (
        <div class="field" key={name}>
          <label for={`typed-${name}`}>{/\s/.test(name) ? name : fieldName(words.problems, name)}</label>
          <textarea id={`typed-${name}`} rows={3} readonly>
            {`\n${value}`}
          </textarea>
        </div>
      ))}
    </div>
  );
}
