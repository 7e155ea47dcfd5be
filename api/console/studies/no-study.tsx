import { EmptyState } from '../html/empty-state.js';
import { useUi } from '../html/ui.js';

/** The first page of an installation without a study: how one is made, or who makes it. */
export function NoStudy({ creates }: { creates: boolean }) {
  const { studies } = useUi().words;
  return (
    <>
      <EmptyState title={studies.empty}>{creates ? studies.emptyWhat : studies.emptyOthers}</EmptyState>
      {creates && (
        <p class="after-empty">
          <a class="button primary" href="/console/studies/new">
            {studies.create}
          </a>
        </p>
      )}
    </>
  );
}
