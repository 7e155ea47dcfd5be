import { h } from 'preact';
import type { Static } from 'typebox';
import type { Tx } from '../../../../db/client/database.js';
import type { Site } from '../../../../db/models/records.js';
import { listSites } from '../../../../db/studies/sites.queries.js';
import { inStudy, staff } from '../../../http/access.js';
import { Type, oneOf } from '../../../http/common.schemas.js';
import { problem } from '../../../http/errors.js';
import { check } from '../../../http/validation/validation.js';
import { changeSite, createSite, getSiteOrThrow } from '../../../studies/sites.service.js';
import { NewSite, SiteChange } from '../../../studies/studies.schemas.js';
import { getStudyOrThrow } from '../../../studies/studies.service.js';
import { pathWith } from '../../routing/done.js';
import { assertFormVersion } from '../../routing/form-version.js';
import { consoleForm, consolePage } from '../../routing/page.js';
import { redirect } from '../../routing/render.js';
import { editOf, orNull } from '../edit/edit.js';
import type { RefusedForm } from '../edit/edit.js';
import { Earlier } from '../studies.routes.js';
import { SitePage, SitesPage, siteNotices } from './sites.page.js';

const list = '/console/studies/{study_id}/sites';
const one = `${list}/{site_id}` as const;
/** More sites than any study has. */
const MAX_LISTED = 1_000;

const siteEdit = (site?: Site, sent?: RefusedForm) =>
  editOf(
    site,
    {
      site_code: site?.site_code ?? '',
      name: site?.name ?? '',
      timezone: site?.timezone ?? '',
      status: site?.status ?? 'active',
    },
    sent,
  );

/** A typed site; an empty text becomes null. */
function siteIn(form: URLSearchParams): Static<typeof NewSite> {
  const said = (name: string) => form.get(name)?.trim() ?? '';
  return {
    site_code: said('site_code'),
    name: orNull(said('name'), said('name')),
    timezone: orNull(said('timezone'), said('timezone')),
    status: said('status') as Site['status'],
  };
}

/** @throws 404 also for a site of another study */
async function siteOf(tx: Tx, params: { study_id: string; site_id: string }): Promise<Site> {
  const site = await getSiteOrThrow(tx, params.site_id.toLowerCase());
  if (site.study_id !== params.study_id.toLowerCase()) throw problem('NOT_FOUND', { detail: 'There is no such site.' });
  return site;
}

export const sitePages = [
  consolePage({
    path: list,
    summary: 'Show the sites of a study',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ said: Type.Optional(oneOf(...siteNotices)), earlier: Earlier }),
    view: async ({ tx, params, query, ui }) => {
      const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
      const sites = await listSites(tx, study.id, { skip: 0, limit: MAX_LISTED, sort: 'site_code' });
      return { title: ui.words.studies.sites, content: h(SitesPage, { study, sites, ...query }) };
    },
  }),
  consolePage({
    path: `${list}/new`,
    summary: 'Show the form of a new site',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, params, ui }) => {
      const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
      return { title: ui.words.sites.add, content: h(SitePage, { study, edit: siteEdit() }) };
    },
  }),
  consoleForm({
    path: `${list}/new`,
    summary: 'Add a site in the console',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
      const given = siteIn(form);
      check(NewSite, given, 'body');
      await createSite({ tx, audit, actor, context }, study.id, given);
      return redirect(`/console/studies/${study.id}/sites?said=saved`);
    },
    again: ({ read, params, form, fault, ui }) =>
      read(async (tx) => {
        const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
        const edit = siteEdit(undefined, { form, fault });
        return { title: ui.words.sites.add, content: h(SitePage, { study, edit }) };
      }),
  }),
  consolePage({
    path: one,
    summary: 'Show a site as a form',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, params }) => {
      const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
      const site = await siteOf(tx, params);
      return { title: site.site_code, content: h(SitePage, { study, site, edit: siteEdit(site) }) };
    },
  }),
  consoleForm({
    path: one,
    summary: 'Change a site in the console',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const { id, study_id, ...before } = await siteOf(tx, params);
      const given = siteIn(form);
      check(SiteChange, given, 'body');
      const site = await changeSite({ tx, audit, actor, context }, id, given, assertFormVersion(form));
      const isReplanned = site.timezone !== before.timezone || site.site_code !== before.site_code;
      const told = { said: isReplanned ? 'replanned' : 'saved', earlier: site.moved_by_earlier_override };
      return redirect(pathWith(`/console/studies/${study_id}/sites`, told));
    },
    again: ({ read, params, form, fault }) =>
      read(async (tx) => {
        const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
        const site = await siteOf(tx, params);
        const content = h(SitePage, { study, site, edit: siteEdit(site, { form, fault }) });
        return { title: site.site_code, content };
      }),
  }),
];
