import { inStudy, signedIn, staff } from '../access.js';
import { created, noContent, route, tagged } from '../route.js';
import { Paged, Type, listOf, oneOf, pageOf, paging, text } from '../schemas/common.js';
import {
  ApplyQuery,
  Category,
  SaveTemplate,
  Template,
  TemplateApplied,
  TemplatePreview,
  TemplateSaved,
  TemplateSummary,
} from '../schemas/templates.js';
import { applyTemplate, previewTemplate } from '../services/templates-apply.js';
import { categoriesOf, removeTemplate, saveTemplate, summaryOf, template, templates } from '../services/templates.js';

const tag = 'Study templates';
const read = { method: 'GET', tag, may: signedIn, within: 'read', studyContext: false } as const;
const one = '/api/templates/{template_id}';
const plainParams = ['template_id'] as const;

export const templateRoutes = [
  route({
    ...read,
    path: '/api/templates',
    summary: 'List study designs to begin with',
    description: 'Those that come with the service, and those saved from studies that the caller sees.',
    query: Type.Object({
      ...paging,
      category: Type.Optional(text(100)),
      source: Type.Optional(oneOf('built_in', 'study')),
    }),
    answers: { 200: listOf(TemplateSummary) },
    handle: async ({ tx, query }) => {
      const found = (await templates(tx)).filter(
        (t) => (query.category ?? t.category) === t.category && (query.source ?? t.source) === t.source,
      );
      return pageOf(found.map(summaryOf), query);
    },
  }),
  route({
    ...read,
    path: '/api/templates/categories',
    summary: 'Categories of study designs',
    query: Paged,
    answers: { 200: listOf(Category) },
    handle: async ({ tx, query }) => pageOf(categoriesOf(await templates(tx)), query),
  }),
  route({
    ...read,
    path: one,
    plainParams,
    summary: 'A study design in full',
    answers: { 200: Template },
    etag: true,
    handle: async ({ tx, params }) => tagged(await template(tx, params.template_id)),
  }),
  route({
    ...read,
    path: `${one}/preview`,
    plainParams,
    summary: 'Everything that applying it would create',
    answers: { 200: TemplatePreview },
    handle: async ({ tx, params }) => previewTemplate(await template(tx, params.template_id)),
  }),
  route({
    method: 'POST',
    path: `${one}/apply`,
    plainParams,
    tag,
    summary: 'Make a study of it',
    may: inStudy('researcher'),
    within: 'change',
    studyContext: false,
    query: ApplyQuery,
    answers: { 201: TemplateApplied },
    description:
      'All in one transaction: study, policy, notification texts, published batteries, visit windows and events; a taken `study_code` is 409 STUDY_CODE_TAKEN and nothing is made. ' +
      'The mappings for a capture system stand in `config.capture_defaults` until a configuration is created, which takes them over. A researcher is assigned to the study.',
    handle: async ({ tx, audit, actor, context, params, query }) =>
      created(await applyTemplate({ tx, audit, actor, context }, await template(tx, params.template_id), query)),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/template',
    tag,
    summary: 'Save a study’s design as a template',
    may: staff.configure,
    within: 'change',
    body: SaveTemplate,
    answers: { 201: TemplateSaved },
    description:
      'Policy, texts, batteries that are not retired, windows, events and mappings as they stand; no participants, sites or secrets. It is seen by those who see the study.',
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await saveTemplate({ tx, audit, actor, context }, params.study_id, body)),
  }),
  route({
    method: 'DELETE',
    path: one,
    plainParams,
    tag,
    summary: 'Remove a saved template',
    may: staff.configure,
    within: 'change',
    studyContext: false,
    answers: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, unchangedSince }) => {
      await removeTemplate({ tx, audit, actor, context }, params.template_id, unchangedSince);
      return noContent();
    },
  }),
];
