import { setImmediate as others } from 'node:timers/promises';
import { inStudy, signedIn, staff, outsideStudy } from '../http/access.js';
import { created, noContent, route, withContentTag, response } from '../http/route.js';
import { Paged, Type, listOf, oneOf, pageOf, paging, text } from '../http/common.schemas.js';
import {
  ApplyQuery,
  Category,
  SaveTemplate,
  Template,
  TemplateApplied,
  TemplatePreview,
  TemplateSaved,
  TemplateSummary,
} from './templates.schemas.js';
import { applyTemplate, previewTemplate } from './templates-apply.service.js';
import { categoriesOf, removeTemplate, saveTemplate, template, templates } from './templates.service.js';

const tag = 'Study templates';
const read = { method: 'GET', tag, access: outsideStudy(signedIn), transaction: 'read' } as const;
const one = '/api/templates/{template_id}';

export const templateRoutes = [
  route({
    ...read,
    path: '/api/templates',
    operationId: 'listTemplates',
    summary: 'List study templates',
    description: 'Those that come with the service, and those saved from studies that the caller sees.',
    query: Type.Object({
      ...paging,
      category: Type.Optional(text(100)),
      source: Type.Optional(oneOf('built_in', 'study')),
    }),
    responses: { 200: listOf(TemplateSummary) },
    handle: async ({ tx, query }) => {
      const found = (await templates(tx)).filter(
        (t) => (query.category ?? t.category) === t.category && (query.source ?? t.source) === t.source,
      );
      return pageOf(found, query);
    },
  }),
  route({
    ...read,
    path: '/api/templates/categories',
    operationId: 'listTemplateCategories',
    summary: 'List template categories',
    description: 'The categories and how many templates each has.',
    query: Paged,
    responses: { 200: listOf(Category) },
    handle: async ({ tx, query }) => pageOf(categoriesOf(await templates(tx)), query),
  }),
  route({
    ...read,
    path: one,
    operationId: 'getTemplate',
    summary: 'Get a study template',
    description: 'A template with its whole design: windows, batteries, events, texts. 404 if it does not exist.',
    responses: { 200: response(Template, { etag: true }) },
    handle: async ({ tx, params }) => {
      const found = await template(tx, params.template_id);
      // It may be megabytes long: its tag is of the whole.
      await others();
      return withContentTag(found);
    },
  }),
  route({
    ...read,
    path: `${one}/preview`,
    operationId: 'previewTemplate',
    summary: 'Preview what a template creates',
    description: 'Everything that applying it would create, with every default filled in. Nothing is created.',
    responses: { 200: TemplatePreview },
    handle: async ({ tx, params }) => previewTemplate(await template(tx, params.template_id)),
  }),
  route({
    method: 'POST',
    path: `${one}/apply`,
    operationId: 'applyTemplate',
    tag,
    summary: 'Create a study from a template',
    access: outsideStudy(inStudy('researcher')),
    transaction: 'change',
    query: ApplyQuery,
    responses: { 201: TemplateApplied },
    description:
      'All in one transaction: study, policy, notification texts, published batteries, visit windows, ' +
      'events and calendars; a taken `study_code` is 409 STUDY_CODE_TAKEN and nothing is made. ' +
      'The mappings for a capture system are in `config.capture_defaults` until a configuration is created, ' +
      'which takes them over. A researcher is assigned to the study.',
    handle: async ({ tx, audit, actor, context, params, query }) =>
      created(await applyTemplate({ tx, audit, actor, context }, await template(tx, params.template_id), query)),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/template',
    operationId: 'saveTemplate',
    tag,
    summary: 'Save a study’s design as a template',
    access: staff.configure,
    transaction: 'change',
    body: SaveTemplate,
    responses: { 201: TemplateSaved },
    description:
      'Policy, texts, batteries that are not retired, windows, events and mappings as they are; no ' +
      'participants, sites or secrets. It is seen by those who see the study.',
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await saveTemplate({ tx, audit, actor, context }, params.study_id, body)),
  }),
  route({
    method: 'DELETE',
    path: one,
    operationId: 'deleteTemplate',
    tag,
    summary: 'Delete a saved template',
    description: 'Deletes a template that was saved from a study; built-in ones stay. 404 if it does not exist.',
    access: outsideStudy(staff.configure),
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeTemplate({ tx, audit, actor, context }, params.template_id, assertIfMatch);
      return noContent();
    },
  }),
];
