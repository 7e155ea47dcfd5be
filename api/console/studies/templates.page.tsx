import type { Problem } from '../../http/errors.js';
import type { previewTemplate } from '../../templates/templates-apply.service.js';
import type { StudyTemplate, TemplateSummary } from '../../templates/templates.service.js';
import { Field, Form, useGiven } from '../html/form.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { PolicyInWords } from './policy-in-words.js';
import { templateText } from '../words/studies/templates.js';
import { FormRefusal } from './settings.page.js';

type Summary = TemplateSummary;
export type PreviewedTemplate = ReturnType<typeof previewTemplate>;

/** Templates from which a study is created. */
export function TemplatesPage({ templates }: { templates: Summary[] }) {
  const { studies, newStudy, templates: words } = useUi().words;
  return (
    <>
      <p class="crumbs">
        <a href="/console/studies">{studies.toStudies}</a>
      </p>
      <h1>{studies.create}</h1>
      <p class="quiet">
        {studies.templatesWhat} <a href="/console/studies/create">{newStudy.title}</a>
      </p>
      <Table<Summary>
        caption={studies.templatesCaption(templates.length)}
        rows={templates.map((one) => ({ ...one, ...templateText(words, one) }))}
        rowKey={({ id }) => id}
        columns={[
          {
            title: studies.template,
            head: true,
            cell: ({ id, name, description, source }) => (
              <div>
                <a href={`/console/studies/new/${id}`}>
                  <bdi>{name}</bdi>
                </a>{' '}
                {source === 'study' && <span class="tag">{studies.own}</span>}
                <p class="quiet plain" dir="auto">
                  {description}
                </p>
              </div>
            ),
          },
          { title: studies.batteries, numeric: true, cell: ({ batteries }) => batteries },
          { title: studies.visits, numeric: true, cell: ({ visit_windows }) => visit_windows },
          { title: studies.lasts, numeric: true, cell: ({ duration_days }) => studies.days(duration_days) },
        ]}
      />
    </>
  );
}

/** The content of a template, before it is used. */
export function TemplatePage({
  template,
  preview,
  typed,
  fault,
}: {
  template: StudyTemplate;
  preview: PreviewedTemplate;
  typed?: { study_code?: string; study_name?: string };
  fault?: Problem;
}) {
  const { words } = useUi();
  const { studies } = words;
  const { name, description } = templateText(words.templates, template);
  const given = useGiven<'study_code' | 'study_name'>({
    typed,
    stored: { study_name: name },
    fault,
    codes: { STUDY_CODE_TAKEN: 'study_code' },
  });
  return (
    <>
      <p class="crumbs">
        <a href="/console/studies/new">{studies.toTemplates}</a>
      </p>
      <h1>
        <bdi>{name}</bdi>
      </h1>
      <p class="quiet" dir="auto">
        {description}
      </p>
      <FormRefusal fault={fault} fields={['study_code', 'study_name']} codes={['STUDY_CODE_TAKEN']} />
      <section class="card">
        <h2>{studies.newStudy}</h2>
        <Form action={`/console/studies/new/${template.id}`}>
          <Field {...given('study_code')} label={studies.newCode} hint={studies.newCodeHint} required maxLength={64} />
          <Field {...given('study_name')} label={studies.newName} required maxLength={300} />
          <button class="primary">{studies.newStudy}</button>
        </Form>
      </section>
      <p class="lead">{studies.preview}</p>
      <Windows of={preview.visit_windows} batteries={preview.batteries} />
      {preview.event_definitions.length > 0 && (
        <Windows
          of={preview.event_definitions.map((event) => ({ code: event.event_oid, ...event }))}
          batteries={preview.batteries}
          events
        />
      )}
      <h2>{studies.batteries}</h2>
      <Table<PreviewedTemplate['batteries'][number]>
        caption={studies.batteriesCaption(preview.batteries.length)}
        rows={preview.batteries}
        rowKey={({ code }) => code}
        columns={[
          { title: studies.name, head: true, cell: ({ name }) => <bdi>{name}</bdi> },
          { title: studies.tasks, cell: ({ modules }) => <bdi>{modules.map(({ name }) => name).join(', ')}</bdi> },
        ]}
      />
      <h2>{studies.policyTitle}</h2>
      <PolicyInWords policy={preview.enrollment_date_policy} />
    </>
  );
}

type PlannedWindow = Pick<
  PreviewedTemplate['visit_windows'][number],
  'code' | 'name' | 'battery' | 'target_day' | 'window_before' | 'window_after'
>;
function Windows({
  of,
  batteries,
  events = false,
}: {
  of: readonly PlannedWindow[];
  batteries: PreviewedTemplate['batteries'];
  events?: boolean;
}) {
  const { studies } = useUi().words;
  const named = (battery: string | null) =>
    batteries.find(({ code }) => code === battery)?.name ?? battery ?? studies.noBattery;
  if (of.length === 0) return null;
  return (
    <section>
      <h2>{events ? studies.events : studies.windows}</h2>
      <Table<PlannedWindow>
        caption={(events ? studies.eventsCaption : studies.windowsCaption)(of.length)}
        rows={of}
        rowKey={({ code }) => code}
        columns={[
          { title: studies.windowName, head: true, cell: ({ name }) => <bdi>{name}</bdi> },
          { title: studies.day, numeric: true, cell: ({ target_day }) => target_day },
          {
            title: studies.window,
            cell: ({ window_before, window_after }) => studies.windowDays(window_before, window_after),
          },
          { title: studies.battery, cell: ({ battery }) => <bdi>{named(battery)}</bdi> },
        ]}
      />
    </section>
  );
}
