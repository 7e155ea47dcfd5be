import type { VisitWindow } from '../../../db/models/records.js';
import type { ScheduleDryRun } from '../../studies/policy-dry-run.service.js';
import type { Problem } from '../../http/errors.js';
import { LOCALES } from '../html/dates.js';
import { Form, Notice } from '../html/form.js';
import { versionOf } from '../routing/form-version.js';
import { useUi } from '../html/ui.js';
import type { Edit } from './edit/edit.js';
import { EditBox, EditChoice, EditField, EditForm, EditRefusal } from './edit/edit-form.js';
import { Examples } from './policy.page.js';
import { FormRefusal } from './settings.page.js';
import { TryButtons } from './try-buttons.js';
import type { StudyView } from './studies.service.js';

/** A visit window to add or to change, with a preview of the moves. */
export function WindowPage({
  view: { study, batteries },
  window,
  edit,
  trial,
}: {
  view: StudyView;
  /** Not set: a new one. */
  window?: VisitWindow | undefined;
  edit: Edit;
  trial?: ScheduleDryRun;
}) {
  const { studies } = useUi().words;
  const at = `/console/studies/${study.id}`;
  const action = `${at}/windows/${window?.id ?? 'new'}`;
  const labels = {
    code: studies.code,
    name: studies.windowName,
    target_day: studies.day,
    window_before: studies.before,
    window_after: studies.after,
    battery_id: studies.battery,
    datacapture_event: studies.event,
    is_baseline: studies.isBaseline,
  };
  const field = (name: keyof typeof labels) => ({ edit, name, label: labels[name] });
  const number = { required: true, inputMode: 'numeric' as const, maxLength: 8 };
  return (
    <>
      <p class="crumbs">
        <a href={`${at}#windows`}>{studies.toStudy}</a>
      </p>
      <h1>{window ? studies.changeWindow : studies.addWindow}</h1>
      <EditRefusal edit={edit} labels={labels} />
      {trial && <WouldMove trial={trial} />}
      <section class="card">
        <EditForm action={action} edit={edit}>
          <EditField {...field('code')} required maxLength={64} />
          <EditField {...field('name')} required maxLength={300} />
          <div class="columns">
            <EditField {...field('target_day')} hint={studies.dayHint} required maxLength={8} />
            <EditField {...field('window_before')} {...number} />
            <EditField {...field('window_after')} {...number} />
          </div>
          <EditChoice
            {...field('battery_id')}
            options={[
              ['', studies.noBattery],
              ...batteries
                .filter(({ status, id }) => status !== 'retired' || id === window?.battery_id)
                .map(({ id, name }) => [String(id), name] as const),
            ]}
          />
          <EditField {...field('datacapture_event')} maxLength={200} />
          <EditBox edit={edit} name="is_baseline" label={studies.baseline} />
          <input type="hidden" name="sort_order" value={edit.values.sort_order} />
          <TryButtons isTried={trial !== undefined} deleteHref={window && `${action}/delete`} />
        </EditForm>
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
export function WouldMove({ trial }: { trial: ScheduleDryRun }) {
  const { total, schedules, moved_by_earlier_override: earlier, examples } = trial;
  const { words, language } = useUi();
  const { studies } = words;
  const count = (n: number) => n.toLocaleString(LOCALES[language]);
  if (total === 0) return <Notice title={studies.dryRun}>{studies.nobody}</Notice>;
  return (
    <>
      <Notice title={studies.wouldPlan(count(schedules), count(total))}>
        {examples.length > 0 && (
          <>
            {studies.examples}:{' '}
            <Examples
              of={examples.slice(0, 5).map((one) => ({ id: one.participant_id, code: one.participant_code }))}
            />
          </>
        )}
      </Notice>
      {earlier > 0 && <Notice kind="alert">{studies.earlier(earlier)}</Notice>}
    </>
  );
}
