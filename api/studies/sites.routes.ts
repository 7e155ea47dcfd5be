import { listSites } from '../../db/studies/sites.queries.js';
import { inStudy } from '../http/access.js';
import { siteNamed } from '../http/context.js';
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
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('site_code', 'name', 'created_at'),
      status: Type.Optional(SiteStatus),
    }),
    responses: { 200: listOf(Site) },
    handle: ({ tx, params, query, headers }) =>
      listSites(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'site_code',
        status: query.status,
        id: siteNamed(headers),
      }),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/sites',
    operationId: 'createSite',
    tag: 'Sites',
    summary: 'Add a site',
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
    access: inStudy('researcher'),
    transaction: 'change',
    body: SiteChange,
    responses: { 200: ChangedSite },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeSite({ tx, audit, actor, context }, params.site_id, body, assertIfMatch),
  }),
];
