import type { StudyRecord } from '../../../db/studies/studies.queries.js';
import type { Problem } from '../../http/errors.js';
import { Field, Form, Notice, SelectField, useGiven } from '../html/form.js';
import { refusalText } from '../html/refusal.js';
import { versionOf } from '../routing/form-version.js';
import { useUi } from '../html/ui.js';

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
type Setting = (typeof settingFields)[number];

/** A study's settings as a form. */
export function SettingsPage({
  study,
  mayDelete,
  typed,
  fault,
}: {
  study: StudyRecord;
  /** The user may delete the study: nobody takes part in it. */
  mayDelete: boolean;
  typed?: Partial<Record<Setting, string>>;
  fault?: Problem;
}) {
  const { words } = useUi();
  const { studies } = words;
  const given = useGiven<Setting>({ typed, stored: study, fault });
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}`}>{studies.toStudy}</a>
      </p>
      <h1>
        {studies.settings}: <bdi>{study.study_code}</bdi>
      </h1>
      <FormRefusal fault={fault} fields={settingFields} />
      <section class="card">
        <Form action={`/console/studies/${study.id}/settings`}>
          <input type="hidden" name="version" value={versionOf(study)} />
          <Field {...given('study_name')} label={studies.name} required maxLength={300} />
          <Field {...given('description')} label={studies.description} multiline maxLength={10_000} />
          <SelectField
            name="status"
            label={studies.status}
            value={given('status').value}
            options={Object.entries(studies.statuses)}
          />
          <Field {...given('start_date')} type="date" label={studies.start} />
          <Field {...given('end_date')} type="date" label={studies.end} />
          <Field {...given('timezone')} label={studies.timezone} hint={studies.timezoneHint} required maxLength={50} />
          <SelectField
            name="consent_mode"
            label={studies.consentMode}
            value={given('consent_mode').value}
            options={Object.entries(studies.consentModes)}
          />
          <p class="quiet">{studies.settingsNote}</p>
          <button class="primary">{studies.save}</button>
        </Form>
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
