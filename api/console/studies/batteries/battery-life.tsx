import type { BatteryRecord } from '../../../../db/assessment/batteries.queries.js';
import type { Problem } from '../../../http/errors.js';
import { Form, errorOf } from '../../html/form.js';
import { versionOf } from '../../routing/form-version.js';
import { useUi } from '../../html/ui.js';
import type { Words } from '../../words/words.js';

/** The displayed version of the battery: a change of another version is refused. */
export const Seen = ({ of }: { of: BatteryRecord }) => <input type="hidden" name="version" value={versionOf(of)} />;

/** The code of a copy that was refused. */
export interface RefusedCopy {
  code: string;
  fault: Problem;
}

/** The error of the copy's code, in words; undefined: the fault is another one. */
export const copyError = ({ fault }: RefusedCopy, words: Words): string | undefined =>
  fault.code === 'BATTERY_CODE_TAKEN' ? words.problems.refusals[fault.code] : errorOf(fault, 'code', words);

/** Copy, retire, restore, delete. */
export function Life({ battery, at, copy }: { battery: BatteryRecord; at: string; copy: RefusedCopy | undefined }) {
  const { words } = useUi();
  const { batteries: texts, studies } = words;
  const error = copy && copyError(copy, words);
  return (
    <section>
      <h2>{texts.life}</h2>
      <div class="acts">
        <div class="act">
          <Form action={`${at}/status`}>
            <Seen of={battery} />
            {battery.status === 'retired' ? (
              <button name="status" value="published">
                {texts.bringBack}
              </button>
            ) : (
              <button class="danger" name="status" value="retired">
                {texts.retire}
              </button>
            )}
          </Form>
          <p class="quiet">{battery.status === 'retired' ? texts.bringBackWhat : texts.retireWhat}</p>
        </div>
        <div class="act">
          <Form action={`${at}/delete`}>
            <Seen of={battery} />
            <button class="danger">{studies.remove}</button>
          </Form>
          <p class="quiet">{texts.deleteWhat}</p>
        </div>
        <div class="act">
          <Form action={`${at}/duplicate`}>
            <label class="spoken" for="copy-code">
              {texts.copyCode}
            </label>
            {error && (
              <p class="error" id="copy-code-error">
                {error}
              </p>
            )}
            <input
              id="copy-code"
              name="copy_code"
              value={copy?.code}
              maxlength={64}
              required
              placeholder={texts.copyCode}
              {...(error && { 'aria-invalid': true as const, 'aria-describedby': 'copy-code-error' })}
            />{' '}
            <button>{texts.copy}</button>
          </Form>
          <p class="quiet">{texts.copyWhat}</p>
        </div>
      </div>
    </section>
  );
}
