import { listSites } from '../../db/studies/sites.queries.js';
import { inStudy } from '../http/access.js';
import { created, route } from '../http/route.js';
import { Type, listOf, paging, sorting } from '../http/common.schemas.js';
import { ChangedSite, NewSite, Site, SiteChange, SiteStatus } from './studies.schemas.js';
import { changeSite, createSite, getSiteOrThrow } from './sites.service.js';

export const siteRoutes = [
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/sites',
    operationId: 'listSites',
    tag: 'Sites',
    summary: 'List the study’s sites',
    description: 'The sites of the study that the caller sees.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('site_code', 'name', 'created_at'),
      status: Type.Optional(SiteStatus),
    }),
    responses: { 200: listOf(Site) },
    handle: ({ tx, params, query, siteId }) =>
      listSites(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'site_code',
        status: query.status,
        id: siteId,
      }),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/sites',
    operationId: 'createSite',
    tag: 'Sites',
    summary: 'Add a site',
    description: 'Adds a site with its time zone. A site_code that the study has already is 409 SITE_CODE_TAKEN.',
    access: inStudy('researcher'),
    transaction: 'change',
    body: NewSite,
    responses: { 201: Site },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await createSite({ tx, audit, actor, context }, params.study_id, body)),
  }),
  route({
    method: 'GET',
    path: '/api/sites/{site_id}',
    operationId: 'getSite',
    tag: 'Sites',
    summary: 'Get a site',
    description: 'A site by its id. 404 if it does not exist or out of reach.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Site },
    handle: ({ tx, params }) => getSiteOrThrow(tx, params.site_id),
  }),
  route({
    method: 'PATCH',
    path: '/api/sites/{site_id}',
    operationId: 'updateSite',
    tag: 'Sites',
    summary: 'Change a site',
    description:
      'Only the fields that are given change. Another time zone plans the visits of its participants again in ' +
      'the background. An inactive site takes no new participants. A site_code that the study has already is 409 ' +
      'SITE_CODE_TAKEN.',
    access: inStudy('researcher'),
    transaction: 'change',
    body: SiteChange,
    responses: { 200: ChangedSite },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeSite({ tx, audit, actor, context }, params.site_id, body, assertIfMatch),
  }),
];
