import { useUi } from '../html/ui.js';

/** The buttons of a form whose effect on visits can be previewed; after a preview, saving is the main one. */
export function TryButtons({
  isTried,
  labels,
  deleteHref,
}: {
  isTried: boolean;
  /** Default: those of a window. */
  labels?: { tryIt: string; save: string };
  deleteHref?: string | undefined;
}) {
  const { studies } = useUi().words;
  return (
    <p class="buttons">
      <button class={isTried ? undefined : 'primary'} name="do" value="try">
        {labels?.tryIt ?? studies.tryWindow}
      </button>
      <button class={isTried ? 'primary' : undefined} name="do" value="save">
        {labels?.save ?? studies.save}
      </button>
      {deleteHref && (
        <a class="button" href={deleteHref}>
          {studies.remove}
        </a>
      )}
    </p>
  );
}
