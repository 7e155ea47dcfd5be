import { Router } from '@koa/router';
import type { Context } from 'koa';
import type { Control } from './control.js';
import { choicesOf } from './dictionary.js';
import { formInEvent, instrumentRepeats } from './design.js';
import { formPlace } from './forms.js';
import { Html, html, page, table } from './page-parts.js';
import type { CaptureProject } from './project.js';
import { InputError, SaveSchema, readInput } from './schemas.js';
import type { World } from './world.js';

const SHOWN = 500;

const queryText = (ctx: Context, name: string): string => {
  const value = ctx.query[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
};

const formLink = (project: CaptureProject, record: string, event: string, instrument: string, instance = 0): string =>
  `/projects/${project.design.project_id}/form?${new URLSearchParams({ record, event, instrument, ...(instance > 0 ? { instance: String(instance) } : {}) }).toString()}`;

function callTable(control: Control, projectId?: number): Html {
  const calls = control.calls(projectId).slice(-SHOWN).reverse();
  return table(
    ['#', 'Time (UTC)', 'From', 'Project', 'Content', 'Action', 'Status', 'ms', 'Fault', 'Written', 'Parameters'],
    calls.map((call) => [
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
    ]),
  );
}

function home(control: Control, world: World): Html {
  return html`<p>API at <code>${world.baseUrl}/api/</code>, control at <code>${world.baseUrl}/control/</code>.</p>
${control.faults().length > 0 ? html`<p class="note">Faults in force: ${JSON.stringify(control.faults())}</p>` : html``}
${table(
  ['Project', 'Title', 'Kind', 'Primary key', 'Records', 'Triggers go to'],
  control
    .projects()
    .map((view) => [
      html`<a href="/projects/${view.project_id}">${view.project_id}</a>`,
      view.title,
      view.longitudinal ? 'longitudinal' : 'classic',
      view.primary_key,
      view.records,
      view.trigger.url ?? 'nowhere',
    ]),
)}<h2>Calls received</h2>${callTable(control)}`;
}

function projectPage(control: Control, project: CaptureProject): Html {
  const { design } = project;
  const events = design.longitudinal ? design.events.map((event) => event.unique_event_name) : [''];
  const records = control.records(design.project_id);
  const first = events[0] ?? '';
  const status = (values: Record<string, string> | undefined, form: string): string =>
    ['incomplete', 'unverified', 'complete'][Number(values?.[`${form}_complete`] ?? -1)] ?? '–';
  const forms = events.flatMap((event) =>
    design.instruments
      .filter((form) => formInEvent(design, event, form.name))
      .map((form) => ({ event, form: form.name })),
  );
  const rows = records
    .slice(0, SHOWN)
    .map((record) => [
      record.record,
      record.data_access_group ?? '',
      record.locks.length > 0 ? record.locks.join(', ') : '',
      record.modified_at,
      ...forms.map(
        ({ event, form }) =>
          html`<a href="${formLink(project, record.record, event, form)}">${status(record.rows.find((row) => row.event === event && row.repeat_instrument === (instrumentRepeats(design, event, form) ? form : ''))?.values, form)}</a>`,
      ),
    ]);
  return html`<p>${design.title}; ${records.length} records${records.length > SHOWN ? html` (the first ${SHOWN} are shown)` : html``}.</p>
${table(['Record', 'Group', 'Locks', 'Changed (server time)', ...forms.map(({ event, form }) => `${event} ${form}`)], rows)}
<h2>New record</h2><form action="/projects/${design.project_id}/form" method="get"><input type="hidden" name="event" value="${first}">
<input type="hidden" name="instrument" value="${design.instruments[0]?.name ?? ''}"><label>Record name <input name="record" required></label><button>Open its first form</button></form>
<h2>Dictionary</h2>${table(
    ['Field', 'Form', 'Type', 'Label', 'Choices', 'Validation', 'Min', 'Max'],
    design.fields.map((field) => [
      field.field_name,
      field.form_name,
      field.field_type,
      field.field_label,
      field.select_choices_or_calculations,
      field.text_validation_type_or_show_slider_number,
      field.text_validation_min,
      field.text_validation_max,
    ]),
  )}<h2>Calls received</h2>${callTable(control, design.project_id)}`;
}

function formPage(
  project: CaptureProject,
  record: string,
  event: string,
  instrument: string,
  instance: number,
  message: string,
): Html {
  const { design } = project;
  const key = formPlace(project, instrument, event || undefined, instance || undefined);
  const values = project.store.row(record, key)?.values;
  const inputs = [...project.columns]
    .filter(
      ([name, { field }]) => field.form_name === instrument && name !== project.key && field.field_type !== 'calc',
    )
    .map(([name, { field, code }]) => {
      const value = values?.get(name) ?? '';
      const choices =
        code === null
          ? choicesOf(field)
          : new Map([
              ['0', 'no'],
              ['1', 'yes'],
            ]);
      const label =
        code === null ? field.field_label || name : `${field.field_label}: ${choicesOf(field).get(code) ?? code}`;
      if (choices.size === 0)
        return html`<label>${label} <code>${name}</code><br><input name="${name}" value="${value}"></label>`;
      return html`<label>${label} <code>${name}</code><br><select name="${name}"><option value=""></option>${[...choices].map(([option, text]) => html`<option value="${option}"${option === value ? html` selected` : html``}>${text}</option>`)}</select></label>`;
    });
  return html`${message === '' ? html`` : html`<p class="note">${message}</p>`}<p>Record <b>${record}</b>${event === '' ? html`` : html`, event ${event}`}${key.instance > 0 ? html`, instance ${key.instance}` : html``}. Saving sends a data entry trigger to ${design.trigger.url ?? 'nowhere (no address is set)'}.</p>
<form method="post" action="${formLink(project, record, event, instrument, key.instance)}">${inputs}<button>Save</button></form>`;
}

/** The pages: projects, records and their forms, every call received and every trigger sent. Plain HTML, no scripts. */
export function pageRoutes(control: Control, world: World): Router {
  const router = new Router();
  const show = (ctx: Context, title: string, content: Html): void => {
    ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'");
    ctx.type = 'html';
    ctx.body = page(title, content);
  };
  const projectOf = (id: string | undefined): CaptureProject => control.project(Number(id));
  router.get('/', (ctx) => show(ctx, 'Capture simulator', home(control, world)));
  router.get('/calls', (ctx) => show(ctx, 'Calls received', callTable(control)));
  router.get('/triggers', (ctx) =>
    show(
      ctx,
      'Triggers sent',
      table(
        ['#', 'Time (UTC)', 'Project', 'To', 'Status', 'ms', 'Body'],
        control
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
          ]),
      ),
    ),
  );
  router.get('/projects/:project', (ctx) => {
    const project = projectOf(ctx.params['project']);
    show(ctx, `Project ${project.design.project_id}`, projectPage(control, project));
  });
  const form = (ctx: Context, project: CaptureProject, message: string): void =>
    show(
      ctx,
      queryText(ctx, 'instrument'),
      formPage(
        project,
        queryText(ctx, 'record'),
        queryText(ctx, 'event'),
        queryText(ctx, 'instrument'),
        Number(queryText(ctx, 'instance')),
        message,
      ),
    );
  router.get('/projects/:project/form', (ctx) => form(ctx, projectOf(ctx.params['project']), ''));
  router.post('/projects/:project/form', async (ctx) => {
    const project = projectOf(ctx.params['project']);
    const instrument = queryText(ctx, 'instrument');
    const { [`${instrument}_complete`]: complete, ...values } = {
      ...(ctx.request as { body?: Record<string, unknown> }).body,
    };
    const instance = Number(queryText(ctx, 'instance'));
    const event = queryText(ctx, 'event');
    try {
      const saved = await control.saveForm(
        project.design.project_id,
        readInput(
          SaveSchema,
          {
            record: queryText(ctx, 'record'),
            instrument,
            values,
            complete: complete === '' ? '0' : complete,
            ...(event === '' ? {} : { event }),
            ...(instance > 0 ? { repeat_instance: instance } : {}),
          },
          'The form',
        ),
      );
      const { trigger } = saved;
      form(
        ctx,
        project,
        `Saved. ${trigger === null ? 'No trigger was sent.' : `The trigger was answered with ${trigger.status ?? trigger.error ?? 'nothing'}.`}`,
      );
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      ctx.status = error.status;
      form(ctx, project, error.message);
    }
  });
  return router;
}
