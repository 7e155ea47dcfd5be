import type { StudyRecord } from '../../../db/studies/studies.queries.js';
import type { Problem } from '../../http/errors.js';
import { Field, Form, Notice, useGiven } from '../html/form.js';
import { refusalText } from '../html/refusal.js';
import { useUi } from '../html/ui.js';
import type { Edit } from './edit/edit.js';
import { EditChoice, EditField, EditForm, EditRefusal } from './edit/edit-form.js';

/** The refusal above a form; nothing if each fault is shown at its field. */
export function FormRefusal({
  fault,
  fields,
  codes = [],
}: {
  fault: Problem | undefined;
  fields: readonly string[];
  /** Conflicts that are shown at a field. */
  codes?: readonly string[];
}) {
  const { words } = useUi();
  const { studies } = words;
  if (!fault) return null;
  if (fault.code === 'STALE')
    return (
      <Notice kind="alert" title={studies.stale}>
        {studies.staleWhat}
      </Notice>
    );
  const isAtFields = (fault.options.errors ?? []).every(({ path }) =>
    fields.includes(path?.replace(/^body\./, '') ?? ''),
  );
  return (
    <Notice kind="alert" title={studies.refused}>
      {(fault.options.errors && isAtFields) || codes.includes(fault.code) ? undefined : refusalText(words, fault)}
    </Notice>
  );
}

export const settingFields = [
  'study_name',
  'description',
  'status',
  'start_date',
  'end_date',
  'timezone',
  'consent_mode',
] as const;

/** A study's settings as a form. */
export function SettingsPage({
  study,
  mayDelete,
  edit,
}: {
  study: StudyRecord;
  /** The user may delete the study: nobody takes part in it. */
  mayDelete: boolean;
  edit: Edit;
}) {
  const { words } = useUi();
  const { studies } = words;
  const labels = {
    study_name: studies.name,
    description: studies.description,
    status: studies.status,
    start_date: studies.start,
    end_date: studies.end,
    timezone: studies.timezone,
    consent_mode: studies.consentMode,
  };
  const field = (name: keyof typeof labels) => ({ edit, name, label: labels[name] });
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}`}>{studies.toStudy}</a>
      </p>
      <h1>
        {studies.settings}: <bdi>{study.study_code}</bdi>
      </h1>
      <EditRefusal edit={edit} labels={labels} />
      <section class="card">
        <EditForm action={`/console/studies/${study.id}/settings`} edit={edit}>
          <EditField {...field('study_name')} required maxLength={300} />
          <EditField {...field('description')} multiline maxLength={10_000} />
          <EditChoice {...field('status')} options={Object.entries(studies.statuses)} />
          <EditField {...field('start_date')} type="date" />
          <EditField {...field('end_date')} type="date" />
          <EditField {...field('timezone')} hint={studies.timezoneHint} required maxLength={50} />
          <EditChoice {...field('consent_mode')} options={Object.entries(studies.consentModes)} />
          <p class="quiet">{studies.settingsNote}</p>
          <button class="primary">{studies.save}</button>
        </EditForm>
      </section>
      {mayDelete && (
        <p class="after-table">
          <a href={`/console/studies/${study.id}/delete`}>{words.newStudy.remove}</a>
        </p>
      )}
    </>
  );
}

/** The form that saves a study's design under a name. */
export function SaveTemplatePage({
  study,
  typed,
  fault,
}: {
  study: StudyRecord;
  typed?: { template_id?: string; name?: string };
  fault?: Problem;
}) {
  const { studies } = useUi().words;
  const given = useGiven<'template_id' | 'name'>({
    typed,
    stored: { name: study.study_name },
    fault,
    codes: { TEMPLATE_ID_TAKEN: 'template_id' },
  });
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}`}>{studies.toStudy}</a>
      </p>
      <h1>{studies.saveTemplate}</h1>
      <FormRefusal fault={fault} fields={['template_id', 'name']} codes={['TEMPLATE_ID_TAKEN']} />
      <section class="card">
        <Form action={`/console/studies/${study.id}/template`}>
          <Field
            {...given('template_id')}
            label={studies.templateId}
            hint={studies.templateIdHint}
            required
            maxLength={100}
          />
          <Field {...given('name')} label={studies.templateName} required maxLength={300} />
          <button class="primary">{studies.saveTemplate}</button>
        </Form>
      </section>
    </>
  );
}
