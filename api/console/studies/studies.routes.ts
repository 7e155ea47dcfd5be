import { h } from 'preact';
import type { Static } from 'typebox';
import { getStudyOrThrow, changeStudy, isStudyEmpty } from '../../studies/studies.service.js';
import { StudyChange } from '../../studies/studies.schemas.js';
import { applyTemplate, previewTemplate } from '../../templates/templates-apply.service.js';
import { ApplyQuery, SaveTemplate } from '../../templates/templates.schemas.js';
import { saveTemplate, template, templates } from '../../templates/templates.service.js';
import { inStudy, outsideStudy, staff } from '../../http/access.js';
import type { Actor } from '../../http/access.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import { check } from '../../http/validation/validation.js';
import type { Tx } from '../../../db/client/database.js';
import { pathWith } from '../routing/done.js';
import { assertFormVersion } from '../routing/form-version.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { editOf, typedValue } from './edit/edit.js';
import type { RefusedForm } from './edit/edit.js';
import { SaveTemplatePage, SettingsPage, settingFields } from './settings.page.js';
import { StudiesPage } from './studies.page.js';
import { loadStudies, loadStudyView } from './studies.service.js';
import { StudyPage } from './study.page.js';
import { TemplatePage, TemplatesPage } from './templates.page.js';

const creator = outsideStudy(inStudy('researcher'));
const one = '/console/studies/{study_id}';
/** Participants whose visits all move with the change, since an override had left them on the former date. */
export const Earlier = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }));
const fromTemplate = '/console/studies/new/{template_id}';

/** Some typed fields of a form. */
export const typedFields = <Name extends string>(
  form: URLSearchParams,
  names: readonly Name[],
): Partial<Record<Name, string>> =>
  Object.fromEntries(names.flatMap((name) => (form.has(name) ? [[name, form.get(name)]] : []))) as Partial<
    Record<Name, string>
  >;

/** A study's settings as a form. */
async function settingsOf(tx: Tx, { role }: Actor, studyId: string, sent?: RefusedForm) {
  const study = await getStudyOrThrow(tx, studyId);
  const now = Object.fromEntries(settingFields.map((name) => [name, study[name] ?? '']));
  return {
    study,
    mayDelete: role === 'admin' && (await isStudyEmpty(tx, studyId)),
    edit: editOf(study, now, sent),
  };
}

/** The typed settings of a study; an empty text becomes null. */
function settingsIn(form: URLSearchParams): Static<typeof StudyChange> {
  const given = Object.fromEntries(
    settingFields.map((name) => {
      const value = typedValue(form, name).trim();
      return [name, value === '' && ['description', 'start_date', 'end_date'].includes(name) ? null : value];
    }),
  );
  check(StudyChange, given, 'body');
  return given as Static<typeof StudyChange>;
}

export const studyPages = [
  consolePage({
    path: '/console/studies',
    summary: 'List studies',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      search: Type.Optional(text(200)),
      skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
    }),
    view: async ({ tx, query, ui }) => ({
      title: ui.words.studies.title,
      content: h(StudiesPage, { list: await loadStudies(tx, query) }),
    }),
  }),
  consolePage({
    path: '/console/studies/new',
    summary: 'List templates from which a study is created',
    access: creator,
    transaction: 'read',
    view: async ({ tx, ui }) => ({
      title: ui.words.studies.create,
      content: h(TemplatesPage, { templates: await templates(tx) }),
    }),
  }),
  consolePage({
    path: fromTemplate,
    summary: 'Show what a template makes',
    access: creator,
    transaction: 'read',
    view: async ({ tx, params, ui }) => {
      const found = await template(tx, params.template_id);
      const content = h(TemplatePage, { template: found, preview: previewTemplate(found) });
      return { title: ui.words.studies.create, content };
    },
  }),
  consoleForm({
    path: fromTemplate,
    summary: 'Create a study from a template',
    access: creator,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const given = {
        study_code: form.get('study_code')?.trim() ?? '',
        study_name: form.get('study_name')?.trim() ?? '',
      };
      check(ApplyQuery, given, 'body');
      const made = await applyTemplate({ tx, audit, actor, context }, await template(tx, params.template_id), given);
      return redirect(`/console/studies/${made.study_id}?said=created`);
    },
    again: async ({ read, params, form, fault, ui }) => {
      const found = await read((tx) => template(tx, params.template_id));
      const typed = typedFields(form, ['study_code', 'study_name']);
      const content = h(TemplatePage, { template: found, preview: previewTemplate(found), typed, fault });
      return { title: ui.words.studies.create, content };
    },
  }),
  consolePage({
    path: one,
    summary: 'Show a study',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ said: Type.Optional(oneOf('created', 'saved', 'template')), earlier: Earlier }),
    view: async ({ tx, actor, params, query }) => {
      const view = await loadStudyView(tx, actor, params.study_id.toLowerCase());
      return { title: view.study.study_code, content: h(StudyPage, { view, ...query }) };
    },
  }),
  consolePage({
    path: `${one}/settings`,
    summary: 'Show a study’s settings as a form',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => ({
      title: ui.words.studies.settings,
      content: h(SettingsPage, await settingsOf(tx, actor, params.study_id.toLowerCase())),
    }),
  }),
  consoleForm({
    path: `${one}/settings`,
    summary: 'Change a study’s settings',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const studyId = params.study_id.toLowerCase();
      const saved = await changeStudy(
        { tx, audit, actor, context },
        studyId,
        settingsIn(form),
        assertFormVersion(form),
      );
      const told = { said: 'saved', earlier: saved.moved_by_earlier_override };
      return redirect(pathWith(`/console/studies/${studyId}`, told));
    },
    again: async ({ read, params, form, fault, ui }) => {
      const found = await read((tx, actor) => settingsOf(tx, actor, params.study_id.toLowerCase(), { form, fault }));
      return { title: ui.words.studies.settings, content: h(SettingsPage, found) };
    },
  }),
  consolePage({
    path: `${one}/template`,
    summary: 'Show the form by which a study’s design is saved as a template',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, params, ui }) => ({
      title: ui.words.studies.saveTemplate,
      content: h(SaveTemplatePage, { study: await getStudyOrThrow(tx, params.study_id.toLowerCase()) }),
    }),
  }),
  consoleForm({
    path: `${one}/template`,
    summary: 'Save a study’s design as a template',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const studyId = params.study_id.toLowerCase();
      const given = { template_id: form.get('template_id')?.trim() ?? '', name: form.get('name')?.trim() ?? '' };
      check(SaveTemplate, given, 'body');
      await saveTemplate({ tx, audit, actor, context }, studyId, given);
      return redirect(`/console/studies/${studyId}?said=template`);
    },
    again: async ({ read, params, form, fault, ui }) => {
      const study = await read((tx) => getStudyOrThrow(tx, params.study_id.toLowerCase()));
      const typed = typedFields(form, ['template_id', 'name']);
      return { title: ui.words.studies.saveTemplate, content: h(SaveTemplatePage, { study, typed, fault }) };
    },
  }),
];
