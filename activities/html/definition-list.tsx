import type { ComponentChildren } from 'preact';

/** Terms with their values, as at the head of a record. */
export function DefinitionList({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([term, what]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
