import { h } from 'preact';
import { INBOX_KINDS } from '../../../db/console/inbox.queries.js';
import { pushAgain } from '../../capture/pushes.service.js';
import { retryTrigger } from '../../capture/triggers/webhook-events.service.js';
import { inStudy, outsideStudy, signedIn } from '../../http/access.js';
import { Type, text } from '../../http/common.schemas.js';
import { noContent } from '../../http/route.js';
import { backTo } from '../routing/done.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { seesStudy } from '../studies/studies.service.js';
import { InboxPage, OutcomeNotice } from './inbox.page.js';
import { inboxAccess, loadInbox, outcomeOf, sizeOf } from './inbox.service.js';
import type { InboxFilter } from './inbox.service.js';

const PATH = '/console/inbox';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id in a filter; anything else counts as none. */
export const idOf = (text: string | null | undefined): string | undefined =>
  text && UUID.test(text) ? text.toLowerCase() : undefined;

const Told = { done: Type.Optional(text(20)), of: Type.Optional(text(80)) };
const Filter = Type.Object({
  kind: Type.Optional(text(20)),
  study: Type.Optional(text(36)),
  site: Type.Optional(text(36)),
  skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
  ...Told,
});
const filterOf = (query: { kind?: string; study?: string; site?: string; skip?: number }): InboxFilter => ({
  kind: INBOX_KINDS.find((one) => one === query.kind),
  study: idOf(query.study),
  site: idOf(query.site),
  skip: query.skip ?? 0,
});

const first = (path: '/console' | '/console/') =>
  consolePage({
    path,
    summary: 'Go to the console’s first page',
    access: inStudy(),
    view: () => redirect(PATH),
  });

export const inboxRoutes = [
  first('/console'),
  first('/console/'),
  consolePage({
    path: PATH,
    summary: 'Show what waits for a decision, over all studies',
    access: inStudy(),
    transaction: 'read',
    query: Filter,
    view: async ({ tx, actor, query, services, studyId, ui }) => {
      const inbox = await loadInbox(tx, actor, filterOf(query));
      const outcome = await outcomeOf(tx, query.done, idOf(query.of));
      if (studyId === undefined) ui.counts = { [PATH]: sizeOf(inbox.facets, {}) };
      const hasStudy = inbox.total > 0 || (await seesStudy(tx));
      const content = h(InboxPage, { inbox, hasStudy, outcome, settings: services.settings });
      return { title: ui.words.inbox.title, content };
    },
  }),
  consolePage({
    path: '/console/inbox/outcome',
    summary: 'Show what became of a push or trigger that was tried again',
    access: outsideStudy(signedIn),
    transaction: 'read',
    background: true,
    query: Type.Object(Told),
    view: async ({ tx, query, ui }) => {
      const outcome = await outcomeOf(tx, query.done, idOf(query.of));
      if (!outcome) return noContent();
      ui.path = PATH;
      return { title: '', content: h(OutcomeNotice, { outcome }), fragment: true };
    },
  }),
  consoleForm({
    path: '/console/inbox/pushes/{session_id}',
    summary: 'Push a session’s results again',
    access: inboxAccess.push,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      await pushAgain({ tx, audit, actor, context }, params.session_id);
      return redirect(backTo(form, PATH, { done: 'push', of: params.session_id.toLowerCase() }));
    },
  }),
  consoleForm({
    path: '/console/inbox/triggers/{event_id}',
    summary: 'Process a failed trigger again',
    access: inboxAccess.trigger,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      await retryTrigger({ tx, audit, actor, context }, params.event_id);
      return redirect(backTo(form, PATH, { done: 'trigger', of: params.event_id.toLowerCase() }));
    },
    // Pressed twice, or by two users: the result of the first is shown.
    again: ({ params, fault, read, services, ui }) =>
      read(async (tx, actor) => {
        if (fault.code !== 'NOT_FAILED') throw fault;
        const inbox = await loadInbox(tx, actor, { skip: 0 });
        const outcome = await outcomeOf(tx, 'trigger', params.event_id);
        return { title: ui.words.inbox.title, content: h(InboxPage, { inbox, outcome, settings: services.settings }) };
      }),
  }),
];
