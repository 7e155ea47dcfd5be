import type { Control } from './control.js';
import { choicesOf } from './dictionary.js';
import { formInEvent, instrumentRepeats } from './design.js';
import { formPlace } from './forms.js';
import { Table } from './page-parts.js';
import type { CaptureProject, Column } from './project.js';
import type { World } from './world.js';

const SHOWN = 500;

const formLink = (project: CaptureProject, record: string, event: string, instrument: string, instance = 0): string =>
  `/projects/${project.design.project_id}/form?${new URLSearchParams({ record, event, instrument, ...(instance > 0 ? { instance: String(instance) } : {}) }).toString()}`;

export const Calls = ({ control, projectId }: { control: Control; projectId?: number }) => (
  <Table
    head={['#', 'Time (UTC)', 'From', 'Project', 'Content', 'Action', 'Status', 'ms', 'Fault', 'Written', 'Parameters']}
    rows={control
      .calls(projectId)
      .slice(-SHOWN)
      .reverse()
      .map((call) => [
        call.id,
        call.at,
        call.ip,
        call.project_id,
        call.content,
        call.action,
        call.status ?? 'dropped',
        call.duration_ms,
        call.fault,
        call.applied ? call.records.join(', ') : '',
        JSON.stringify(call.parameters),
      ])}
  />
);

export const Triggers = ({ control }: { control: Control }) => (
  <Table
    head={['#', 'Time (UTC)', 'Project', 'To', 'Status', 'ms', 'Body']}
    rows={control
      .triggers()
      .slice(-SHOWN)
      .reverse()
      .map((entry) => [
        entry.id,
        entry.at,
        entry.project_id,
        entry.url,
        entry.status ?? entry.error,
        entry.duration_ms,
        entry.body,
      ])}
  />
);

export const Home = ({ control, world }: { control: Control; world: World }) => (
  <>
    <p>
      API at <code>{world.baseUrl}/api/</code>, control at <code>{world.baseUrl}/control/</code>.
    </p>
    {control.faults().length > 0 && <p class="note">Faults in force: {JSON.stringify(control.faults())}</p>}
    <Table
      head={['Project', 'Title', 'Kind', 'Primary key', 'Records', 'Triggers go to']}
      rows={control
        .projects()
        .map((view) => [
          <a href={`/projects/${view.project_id}`}>{view.project_id}</a>,
          view.title,
          view.longitudinal ? 'longitudinal' : 'classic',
          view.primary_key,
          view.records,
          view.trigger.url ?? 'nowhere',
        ])}
    />
    <h2>Calls received</h2>
    <Calls control={control} />
  </>
);

function Records({ control, project }: { control: Control; project: CaptureProject }) {
  const { design } = project;
  const events = design.longitudinal ? design.events.map((event) => event.unique_event_name) : [''];
  const status = (values: Record<string, string> | undefined, form: string): string =>
    ['incomplete', 'unverified', 'complete'][Number(values?.[`${form}_complete`] ?? -1)] ?? '–';
  const forms = events.flatMap((event) =>
    design.instruments
      .filter((form) => formInEvent(design, event, form.name))
      .map((form) => ({ event, form: form.name })),
  );
  const rows = control
    .records(design.project_id)
    .slice(0, SHOWN)
    .map((record) => [
      record.record,
      record.data_access_group ?? '',
      record.locks.length > 0 ? record.locks.join(', ') : '',
      record.modified_at,
      ...forms.map(({ event, form }) => {
        const repeat = instrumentRepeats(design, event, form) ? form : '';
        const row = record.rows.find((one) => one.event === event && one.repeat_instrument === repeat);
        return <a href={formLink(project, record.record, event, form)}>{status(row?.values, form)}</a>;
      }),
    ]);
  return (
    <Table
      head={[
        'Record',
        'Group',
        'Locks',
        'Changed (server time)',
        ...forms.map(({ event, form }) => `${event} ${form}`),
      ]}
      rows={rows}
    />
  );
}

export function ProjectPage({ control, project }: { control: Control; project: CaptureProject }) {
  const { design } = project;
  const first = design.longitudinal ? (design.events[0]?.unique_event_name ?? '') : '';
  const records = control.records(design.project_id).length;
  return (
    <>
      <p>
        {design.title}; {records} records{records > SHOWN && ` (the first ${SHOWN} are shown)`}.
      </p>
      <Records control={control} project={project} />
      <h2>New record</h2>
      <form action={`/projects/${design.project_id}/form`} method="get">
        <input type="hidden" name="event" value={first} />
        <input type="hidden" name="instrument" value={design.instruments[0]?.name ?? ''} />
        <label>
          Record name <input name="record" required />
        </label>
        <button>Open its first form</button>
      </form>
      <h2>Dictionary</h2>
      <Table
        head={['Field', 'Form', 'Type', 'Label', 'Choices', 'Validation', 'Min', 'Max']}
        rows={design.fields.map((field) => [
          field.field_name,
          field.form_name,
          field.field_type,
          field.field_label,
          field.select_choices_or_calculations,
          field.text_validation_type_or_show_slider_number,
          field.text_validation_min,
          field.text_validation_max,
        ])}
      />
      <h2>Calls received</h2>
      <Calls control={control} projectId={design.project_id} />
    </>
  );
}

function Field({ name, value, column: { field, code } }: { name: string; value: string; column: Column }) {
  const choices =
    code === null
      ? choicesOf(field)
      : new Map([
          ['0', 'no'],
          ['1', 'yes'],
        ]);
  const label =
    code === null ? field.field_label || name : `${field.field_label}: ${choicesOf(field).get(code) ?? code}`;
  return (
    <label>
      {label} <code>{name}</code>
      <br />
      {choices.size === 0 ? (
        <input name={name} value={value} />
      ) : (
        <select name={name}>
          <option value=""></option>
          {[...choices].map(([option, text]) => (
            <option key={option} value={option} selected={option === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </label>
  );
}

export function FormPage({
  project,
  record,
  event,
  instrument,
  instance,
  message,
}: {
  project: CaptureProject;
  record: string;
  event: string;
  instrument: string;
  instance: number;
  message: string;
}) {
  const { design } = project;
  const key = formPlace(project, instrument, event || undefined, instance || undefined);
  const values = project.store.row(record, key)?.values;
  const columns = [...project.columns].filter(
    ([name, { field }]) => field.form_name === instrument && name !== project.key && field.field_type !== 'calc',
  );
  return (
    <>
      {message !== '' && <p class="note">{message}</p>}
      <p>
        Record <b>{record}</b>
        {event !== '' && `, event ${event}`}
        {key.instance > 0 && `, instance ${key.instance}`}. Saving sends a data entry trigger to{' '}
        {design.trigger.url ?? 'nowhere (no address is set)'}.
      </p>
      <form method="post" action={formLink(project, record, event, instrument, key.instance)}>
        {columns.map(([name, column]) => (
          <Field key={name} name={name} value={values?.get(name) ?? ''} column={column} />
        ))}
        <button>Save</button>
      </form>
    </>
  );
}
