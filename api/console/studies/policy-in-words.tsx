import type { Policy } from '../../../workflows/domain/anchor/policy-schema.js';
import { useUi } from '../html/ui.js';
import { policyInWords } from './policy-words.js';

/** A policy in sentences. `than`: the current policy; differences are marked. */
export function PolicyInWords({ policy, than }: { policy: Policy; than?: Policy | undefined }) {
  const { words } = useUi();
  const known = than && new Set(policyInWords(than, words.policy).flatMap(linesOf));
  const line = (text: string) => (
    <li key={text} dir="auto">
      {text} {known && !known.has(text) && <mark>{words.studies.changed}</mark>}
    </li>
  );
  return (
    <div class="policy-words">
      {policyInWords(policy, words.policy).map(({ title, sentences, steps }) => (
        <section key={title}>
          <h3>{title}</h3>
          {sentences.length > 0 && <ul>{sentences.map(line)}</ul>}
          {steps && <ol>{steps.map(line)}</ol>}
        </section>
      ))}
    </div>
  );
}

const linesOf = ({ sentences, steps = [] }: { sentences: string[]; steps?: string[] }) => [...sentences, ...steps];
