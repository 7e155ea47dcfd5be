import type { StudyRecord } from '../../../db/studies/studies.queries.js';
import type { Problem } from '../../http/errors.js';
import { Field, Form, Notice, SelectField, errorOf } from '../html/form.js';
import { versionOf } from '../html/form-version.js';
import { useUi } from '../html/ui.js';

/** What a refused form says above itself; nothing where each fault stands at its field. */
export function Refusal({ fault, fields }: { fault: Problem | undefined; fields: readonly string[] }) {
  const { studies } = useUi().words;
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
      {fault.options.errors && isAtFields ? undefined : fault.message}
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
  typed,
  fault,
}: {
  study: StudyRecord;
  typed?: Partial<Record<Setting, string>>;
  fault?: Problem;
}) {
  const { words, user } = useUi();
  const { studies } = words;
  const value = (name: Setting): string => typed?.[name] ?? study[name] ?? '';
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}`}>{studies.toStudy}</a>
      </p>
      <h1>
        {studies.settings}: <bdi>{study.study_code}</bdi>
      </h1>
      <Refusal fault={fault} fields={settingFields} />
      <section class="card">
        <Form action={`/console/studies/${study.id}/settings`}>
          <input type="hidden" name="version" value={versionOf(study)} />
          <Field
            name="study_name"
            label={studies.name}
            value={value('study_name')}
            error={errorOf(fault, 'study_name')}
            required
            maxLength={300}
          />
          <Field
            name="description"
            label={studies.description}
            value={value('description')}
            error={errorOf(fault, 'description')}
            multiline
            maxLength={10_000}
          />
          <SelectField
            name="status"
            label={studies.status}
            value={value('status')}
            options={Object.entries(studies.statuses)}
          />
          <Field
            name="start_date"
            type="date"
            label={studies.start}
            value={value('start_date')}
            error={errorOf(fault, 'start_date')}
          />
          <Field
            name="end_date"
            type="date"
            label={studies.end}
            value={value('end_date')}
            error={errorOf(fault, 'end_date')}
          />
          <Field
            name="timezone"
            label={studies.timezone}
            hint={studies.timezoneHint}
            value={value('timezone')}
            error={errorOf(fault, 'timezone')}
            required
            maxLength={50}
          />
          <SelectField
            name="consent_mode"
            label={studies.consentMode}
            value={value('consent_mode')}
            options={Object.entries(studies.consentModes)}
          />
          <p class="quiet">{studies.settingsNote}</p>
          <button class="primary">{studies.save}</button>
        </Form>
      </section>
      {user?.role === 'admin' && (
        <p class="after-table">
          <a href={`/console/studies/${study.id}/delete`}>{words.newStudy.remove}</a>
        </p>
      )}
    </>
  );
}

/** A study's design, to be saved under a name. */
export function SaveTemplatePage({
  study,
  typed = {},
  fault,
}: {
  study: StudyRecord;
  typed?: { template_id?: string; name?: string };
  fault?: Problem;
}) {
  const { studies } = useUi().words;
  const taken = fault?.code === 'TEMPLATE_ID_TAKEN';
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}`}>{studies.toStudy}</a>
      </p>
      <h1>{studies.saveTemplate}</h1>
      {!taken && <Refusal fault={fault} fields={['template_id', 'name']} />}
      <section class="card">
        <Form action={`/console/studies/${study.id}/template`}>
          <Field
            name="template_id"
            label={studies.templateId}
            hint={studies.templateIdHint}
            value={typed.template_id}
            error={taken ? studies.templateTaken : errorOf(fault, 'template_id')}
            required
            maxLength={100}
          />
          <Field
            name="name"
            label={studies.templateName}
            value={typed.name ?? study.study_name}
            error={errorOf(fault, 'name')}
            required
            maxLength={300}
          />
          <button class="primary">{studies.saveTemplate}</button>
        </Form>
      </section>
    </>
  );
}
