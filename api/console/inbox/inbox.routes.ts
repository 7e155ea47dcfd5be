import { h } from 'preact';
import { inStudy } from '../../http/access.js';
import { Type } from '../../http/common.schemas.js';
import { consolePage } from '../html/page.js';
import { redirect } from '../html/render.js';
import { InboxPage, PAGE } from './inbox.page.js';
import { inboxItems } from './inbox.service.js';

const first = (path: '/console' | '/console/') =>
  consolePage({
    path,
    summary: 'Go to the console’s first page',
    access: inStudy(),
    view: () => redirect('/console/inbox'),
  });

export const inboxRoutes = [
  first('/console'),
  first('/console/'),
  consolePage({
    path: '/console/inbox',
    summary: 'Show what waits for a decision, over all studies',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })) }),
    view: async ({ tx, actor, query: { skip = 0 }, studyId, ui }) => ({
      title: ui.words.inbox.title,
      content: h(InboxPage, { ...(await inboxItems(tx, actor, { study_id: studyId, skip, limit: PAGE })), skip }),
    }),
  }),
];
