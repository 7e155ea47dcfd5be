import { h } from 'preact';
import type { Static } from 'typebox';
import { orderDocument, ownDocument, ownFile, recentDocuments } from '../../reports/kept-documents.service.js';
import { reportFilters } from '../../reports/reports.schemas.js';
import { inStudy } from '../../http/access.js';
import { Type, oneOf } from '../../http/common.schemas.js';
import { check } from '../../http/validation/validation.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { DocumentList, DocumentPage, DocumentProgress, DocumentsPage } from './documents.page.js';
import { DOCUMENTS, REPORTS } from './paths.js';

const Asked = Type.Object({ ...reportFilters, page_size: oneOf('a4', 'letter') });
const FIELDS = ['from', 'to', 'site_code', 'arm', 'page_size'];
const one = `${DOCUMENTS}/{document_id}` as const;

/** Documents are printed in the background; each has an address to return to. */
export const documentPages = [
  consolePage({
    path: DOCUMENTS,
    summary: 'Show the documents that the user asked for',
    access: inStudy(),
    transaction: 'read',
    view: async ({ tx, actor, ui }) => ({
      title: ui.words.reports.documents,
      content: h(DocumentsPage, { items: await recentDocuments(tx, actor) }),
    }),
  }),
  consolePage({
    path: `${DOCUMENTS}/list`,
    summary: 'Get the part of a page that lists the user’s documents',
    access: inStudy(),
    transaction: 'read',
    background: true,
    view: async ({ tx, actor }) => ({
      title: '',
      fragment: true,
      content: h(DocumentList, { items: await recentDocuments(tx, actor) }),
    }),
  }),
  consoleForm({
    path: `${REPORTS}/{study_id}/documents`,
    summary: 'Ask for the report of a study as PDF',
    access: inStudy(),
    submit: async ({ services, actor, context, params, form, ui }) => {
      const asked: unknown = Object.fromEntries(
        FIELDS.flatMap((name) => (form.get(name) ? [[name, form.get(name)]] : [])),
      );
      check(Asked, asked, 'body');
      const question = { ...(asked as Static<typeof Asked>), language: ui.language };
      const id = await orderDocument({ services, actor, context }, params.study_id.toLowerCase(), question);
      return redirect(`${DOCUMENTS}/${id}`);
    },
  }),
  consolePage({
    path: one,
    summary: 'Show how far a document is, then where its file is',
    access: inStudy(),
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => ({
      title: ui.words.reports.document,
      content: h(DocumentPage, { item: await ownDocument(tx, actor, params.document_id) }),
    }),
  }),
  consolePage({
    path: `${one}/progress`,
    summary: 'Get the part of a page that says how far a document is',
    access: inStudy(),
    transaction: 'read',
    background: true,
    view: async ({ tx, actor, params }) => ({
      title: '',
      fragment: true,
      content: h(DocumentProgress, { item: await ownDocument(tx, actor, params.document_id) }),
    }),
  }),
  consolePage({
    path: `${one}/file`,
    summary: 'Download a document of the user’s own',
    access: inStudy(),
    transaction: 'read',
    view: ({ tx, actor, params }) => ownFile(tx, actor, params.document_id),
  }),
];
