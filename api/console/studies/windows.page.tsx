import type { VisitWindow } from '../../../db/models/records.js';
import type { ScheduleDryRun } from '../../studies/policy-dry-run.service.js';
import type { Problem } from '../../http/errors.js';
import { LOCALES } from '../html/dates.js';
import { Field, Form, Notice, SelectField, useGiven } from '../html/form.js';
import { versionOf } from '../routing/form-version.js';
import { useUi } from '../html/ui.js';
import { Examples } from './policy.page.js';
import { FormRefusal } from './settings.page.js';
import { TryButtons } from './try-buttons.js';
import type { StudyView } from './studies.service.js';

/** A window's typed fields. */
export const windowFields = [
  'code',
  'name',
  'battery_id',
  'target_day',
  'window_before',
  'window_after',
  'is_baseline',
  'datacapture_event',
  'sort_order',
] as const;
export type TypedWindow = Partial<Record<(typeof windowFields)[number], string>>;

/** A visit window to add or to change, with a preview of the moves. */
export function WindowPage({
  view: { study, batteries },
  window,
  typed,
  trial,
  fault,
}: {
  view: StudyView;
  /** Not set: a new one. */
  window?: VisitWindow | undefined;
  typed?: TypedWindow;
  trial?: ScheduleDryRun;
  fault?: Problem;
}) {
  const { studies } = useUi().words;
  const stored = window ?? { window_before: 0, window_after: 7, sort_order: 0 };
  const given = useGiven<keyof TypedWindow>({ typed, stored, fault, codes: { WINDOW_CODE_TAKEN: 'code' } });
  const at = `/console/studies/${study.id}`;
  const action = `${at}/windows/${window?.id ?? 'new'}`;
  const isBaseline = typed ? typed.is_baseline !== undefined : window?.is_baseline === true;
  const number = { required: true, inputMode: 'numeric' as const, maxLength: 8 };
  return (
    <>
      <p class="crumbs">
        <a href={`${at}#windows`}>{studies.toStudy}</a>
      </p>
      <h1>{window ? studies.changeWindow : studies.addWindow}</h1>
      <FormRefusal fault={fault} fields={windowFields} codes={['WINDOW_CODE_TAKEN']} />
      {trial && <WouldMove trial={trial} />}
      <section class="card">
        <Form action={action}>
          {window && <input type="hidden" name="version" value={versionOf(window)} />}
          <Field {...given('code')} label={studies.code} required maxLength={64} />
          <Field {...given('name')} label={studies.windowName} required maxLength={300} />
          <div class="columns">
            <Field {...given('target_day')} label={studies.day} hint={studies.dayHint} required maxLength={8} />
            <Field {...given('window_before')} label={studies.before} {...number} />
            <Field {...given('window_after')} label={studies.after} {...number} />
          </div>
          <SelectField
            name="battery_id"
            label={studies.battery}
            value={given('battery_id').value}
            options={[
              ['', studies.noBattery],
              ...batteries
                .filter(({ status, id }) => status !== 'retired' || id === window?.battery_id)
                .map(({ id, name }) => [String(id), name] as const),
            ]}
          />
          <Field {...given('datacapture_event')} label={studies.event} maxLength={200} />
          <label class="check">
            <input type="checkbox" name="is_baseline" value="1" checked={isBaseline} /> {studies.baseline}
          </label>
          <input type="hidden" name="sort_order" value={given('sort_order').value} />
          <TryButtons isTried={trial !== undefined} deleteHref={window && `${action}/delete`} />
        </Form>
      </section>
    </>
  );
}

/** A preview of deleting a window, and the button that does it. */
export function DeleteWindowPage({
  studyId,
  window,
  trial,
  fault,
}: {
  studyId: string;
  window: VisitWindow;
  /** Not there: it is shown when it is asked for. */
  trial: ScheduleDryRun | undefined;
  fault?: Problem;
}) {
  const { studies } = useUi().words;
  const at = `/console/studies/${studyId}`;
  return (
    <>
      <p class="crumbs">
        <a href={`${at}#windows`}>{studies.toStudy}</a>
      </p>
      <h1>
        {studies.deleteWindow}: <bdi>{window.name}</bdi>
      </h1>
      {fault?.code === 'WINDOW_IN_USE' ? (
        <Notice kind="alert">{studies.inUse}</Notice>
      ) : (
        <FormRefusal fault={fault} fields={[]} />
      )}
      <p>{studies.removeWhat}</p>
      {trial && <WouldMove trial={trial} />}
      <Form action={`${at}/windows/${window.id}/delete`}>
        <input type="hidden" name="version" value={versionOf(window)} />
        {!trial && (
          <button name="do" value="try">
            {studies.tryWindow}
          </button>
        )}
        <button class="danger" name="do" value="save">
          {studies.remove}
        </button>
      </Form>
    </>
  );
}

/** The number of participants whose schedule a change would move. */
export function WouldMove({ trial: { total, schedules, examples } }: { trial: ScheduleDryRun }) {
  const { words, language } = useUi();
  const { studies } = words;
  const count = (n: number) => n.toLocaleString(LOCALES[language]);
  if (total === 0) return <Notice title={studies.dryRun}>{studies.nobody}</Notice>;
  return (
    <Notice title={studies.wouldPlan(count(schedules), count(total))}>
      {examples.length > 0 && (
        <>
          {studies.examples}:{' '}
          <Examples of={examples.slice(0, 5).map((one) => ({ id: one.participant_id, code: one.participant_code }))} />
        </>
      )}
    </Notice>
  );
}
