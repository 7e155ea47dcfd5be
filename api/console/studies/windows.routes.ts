import { randomUUID } from 'node:crypto';
import { h } from 'preact';
import type { Static } from 'typebox';
import type { Tx } from '../../../db/client/database.js';
import type { VisitWindow } from '../../../db/models/records.js';
import type { WindowRow } from '../../../db/scheduling/schedules.queries.js';
import { staff } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import { check } from '../../http/validation/validation.js';
import { NewVisitWindow, VisitWindowChange } from '../../scheduling/schedules.schemas.js';
import { changeWindow, createWindow, getWindowOrThrow, removeWindow } from '../../scheduling/windows.service.js';
import { dryRunFor } from '../../studies/dry-runs-at-once.js';
import { dryRunSchedules } from '../../studies/policy-dry-run.service.js';
import type { ScheduleDryRun } from '../../studies/policy-dry-run.service.js';
import { assertFormVersion } from '../routing/form-version.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { asTyped, editOf, orNull, wholeNumber } from './edit/edit.js';
import type { RefusedForm } from './edit/edit.js';
import { trialIfQuick } from './quick-trial.js';
import { loadStudyView } from './studies.service.js';
import { DeleteWindowPage, WindowPage } from './windows.page.js';

const list = '/console/studies/{study_id}/windows';
const one = `${list}/{window_id}` as const;
type Given = Omit<Static<typeof NewVisitWindow>, 'study_id'>;

/** A window as a form. */
const windowEdit = (window: VisitWindow | undefined, sent?: RefusedForm) =>
  editOf(
    window,
    {
      code: window?.code ?? '',
      name: window?.name ?? '',
      battery_id: String(window?.battery_id ?? ''),
      target_day: String(window?.target_day ?? ''),
      window_before: String(window?.window_before ?? 0),
      window_after: String(window?.window_after ?? 7),
      is_baseline: window?.is_baseline ? '1' : '',
      datacapture_event: window?.datacapture_event ?? '',
      sort_order: String(window?.sort_order ?? 0),
    },
    sent,
  );

/** A typed window: text that is no number stays text, and the schema refuses it. */
function windowIn(form: URLSearchParams): Given {
  const said = (name: string) => form.get(name)?.trim() ?? '';
  const number = (name: string) => wholeNumber(said(name));
  return {
    code: said('code'),
    name: said('name'),
    battery_id: orNull(said('battery_id'), number('battery_id')),
    target_day: number('target_day'),
    window_before: number('window_before'),
    window_after: number('window_after'),
    is_baseline: form.get('is_baseline') !== null,
    datacapture_event: orNull(said('datacapture_event'), said('datacapture_event')),
    sort_order: number('sort_order'),
  } as Given;
}

/** A dry run of the schedules with this window in place of the one with its id, or as a new one. */
const trialOf = (tx: Tx, studyId: string, id: string, input: Given): Promise<ScheduleDryRun> =>
  dryRunSchedules(tx, studyId, (sources) => {
    const kept = sources.windows.filter((window) => window.id !== id);
    const tried = { ...input, id } as WindowRow;
    return { ...sources, windows: [...kept, tried].sort(byPlanOrder) };
  });
/** In the order of the plan. */
const byPlanOrder = (a: WindowRow, b: WindowRow): number =>
  a.sort_order - b.sort_order || a.target_day - b.target_day || (a.code < b.code ? -1 : 1);

const withoutWindow = (tx: Tx, studyId: string, id: string): Promise<ScheduleDryRun> =>
  dryRunSchedules(tx, studyId, (sources) => ({
    ...sources,
    windows: sources.windows.filter((window) => window.id !== id),
  }));

/** @throws 404 also for a window of another study */
async function windowOf(tx: Tx, params: { study_id: string; window_id: string }): Promise<VisitWindow> {
  const window = await getWindowOrThrow(tx, params.window_id.toLowerCase());
  if (window.study_id !== params.study_id.toLowerCase())
    throw problem('NOT_FOUND', { detail: 'There is no such visit window.' });
  return window;
}

const toChange = (studyId: string, changeId: string) => redirect(`/console/studies/${studyId}/changes/${changeId}`);

export const windowPages = [
  consolePage({
    path: `${list}/new`,
    summary: 'Show the form of a new visit window',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => {
      const view = await loadStudyView(tx, actor, params.study_id.toLowerCase());
      return { title: ui.words.studies.addWindow, content: h(WindowPage, { view, edit: windowEdit(undefined) }) };
    },
  }),
  consoleForm({
    path: `${list}/new`,
    summary: 'Show what a new visit window would move, or add it',
    access: staff.configure,
    transaction: 'change',
    tries: (form) => form.get('do') !== 'save',
    submit: async ({ tx, audit, actor, context, params, form, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const given = windowIn(form);
      check(NewVisitWindow, given, 'body');
      if (form.get('do') !== 'save') {
        const trial = await dryRunFor(actor, () => trialOf(tx, studyId, randomUUID(), given));
        const view = await loadStudyView(tx, actor, studyId);
        const content = h(WindowPage, { view, trial, edit: asTyped(windowEdit(undefined), form) });
        return { title: ui.words.studies.addWindow, content };
      }
      const changeId = randomUUID();
      await createWindow({ tx, audit, actor, context }, studyId, given, changeId);
      return toChange(studyId, changeId);
    },
    again: async ({ read, params, form, fault, ui }) => {
      const view = await read((tx, actor) => loadStudyView(tx, actor, params.study_id.toLowerCase()));
      const content = h(WindowPage, { view, edit: windowEdit(undefined, { form, fault }) });
      return { title: ui.words.studies.addWindow, content };
    },
  }),
  consolePage({
    path: one,
    summary: 'Show a visit window as a form',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => {
      const view = await loadStudyView(tx, actor, params.study_id.toLowerCase());
      const window = await windowOf(tx, params);
      const content = h(WindowPage, { view, window, edit: windowEdit(window) });
      return { title: ui.words.studies.changeWindow, content };
    },
  }),
  consoleForm({
    path: one,
    summary: 'Show what another visit window would move, or save it',
    access: staff.configure,
    transaction: 'change',
    tries: (form) => form.get('do') !== 'save',
    submit: async ({ tx, audit, actor, context, params, form, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const window = await windowOf(tx, params);
      const given = windowIn(form);
      check(VisitWindowChange, given, 'body');
      if (form.get('do') !== 'save') {
        assertFormVersion(form)(window);
        const trial = await dryRunFor(actor, () => trialOf(tx, studyId, window.id, given));
        const view = await loadStudyView(tx, actor, studyId);
        const content = h(WindowPage, { view, window, trial, edit: asTyped(windowEdit(window), form) });
        return { title: ui.words.studies.changeWindow, content };
      }
      const changeId = randomUUID();
      await changeWindow({ tx, audit, actor, context }, window.id, given, assertFormVersion(form), changeId);
      return toChange(studyId, changeId);
    },
    again: async ({ read, params, form, fault, ui }) => {
      const { view, window } = await read(async (tx, actor) => ({
        view: await loadStudyView(tx, actor, params.study_id.toLowerCase()),
        window: await windowOf(tx, params),
      }));
      const edit = windowEdit(window, { form, fault });
      return { title: ui.words.studies.changeWindow, content: h(WindowPage, { view, window, edit }) };
    },
  }),
  consolePage({
    path: `${one}/delete`,
    summary: 'Show what deleting a visit window would move',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, params, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const window = await windowOf(tx, params);
      const trial = await trialIfQuick(tx, studyId, () => withoutWindow(tx, studyId, window.id));
      return { title: ui.words.studies.deleteWindow, content: h(DeleteWindowPage, { studyId, window, trial }) };
    },
  }),
  consoleForm({
    path: `${one}/delete`,
    summary: 'Show what deleting a visit window would move, or delete it',
    access: staff.configure,
    transaction: 'change',
    tries: (form) => form.get('do') === 'try',
    submit: async ({ tx, audit, actor, context, params, form, ui }) => {
      const changeId = randomUUID();
      const window = await windowOf(tx, params);
      const { id } = window;
      if (form.get('do') === 'try') {
        const studyId = params.study_id.toLowerCase();
        const trial = await dryRunFor(actor, () => withoutWindow(tx, studyId, id));
        return { title: ui.words.studies.deleteWindow, content: h(DeleteWindowPage, { studyId, window, trial }) };
      }
      await removeWindow({ tx, audit, actor, context }, id, assertFormVersion(form), changeId);
      return toChange(params.study_id.toLowerCase(), changeId);
    },
    again: async ({ read, params, fault, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const content = await read(async (tx) => {
        const window = await windowOf(tx, params);
        const trial = await trialIfQuick(tx, studyId, () => withoutWindow(tx, studyId, window.id));
        return h(DeleteWindowPage, { studyId, window, fault, trial });
      });
      return { title: ui.words.studies.deleteWindow, content };
    },
  }),
];
