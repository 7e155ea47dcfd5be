import { h } from 'preact';
import { queryAll } from '../../../db/client/query.js';
import { inStudy } from '../../http/access.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import { problem } from '../../http/errors.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { ParticipantsPage } from './participants.page.js';
import { listStatements, loadParticipants } from './participants.service.js';

const path = '/console/participants';
const Study = Type.Optional(Type.String({ pattern: '^([0-9a-fA-F-]{36})?$' }));
const Status = Type.Optional(oneOf('', 'enrolled', 'withdrawn'));

export const participantListPages = [
  consolePage({
    path,
    summary: 'List participants, over all studies',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      code: Type.Optional(text(200)),
      study: Study,
      status: Status,
      skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    }),
    prefetch: ({ query }) => listStatements(query),
    view: async ({ tx, query, prefetched, ui }) => ({
      title: ui.words.participants.title,
      content: h(ParticipantsPage, { list: await loadParticipants(tx, prefetched), narrowed: query }),
    }),
  }),
  consoleForm({
    path,
    summary: 'Search participants by code, external id or email',
    access: inStudy(),
    transaction: 'read',
    fields: Type.Object({
      q: Type.Optional(text(200)),
      study: Study,
      status: Status,
      skip: Type.Optional(Type.String({ pattern: '^[0-9]{1,6}$' })),
    }),
    submit: async ({ tx, form, ui }) => {
      const q = form.get('q')?.trim() ?? '';
      const study = form.get('study') ?? '';
      const status = form.get('status') ?? '';
      if (!q.includes('@')) {
        const asked = Object.entries({ code: q, study, status }).filter(([, value]) => value !== '');
        return redirect(asked.length === 0 ? path : `${path}?${new URLSearchParams(asked).toString()}`);
      }
      const narrowed = { email: q, study, status, skip: Number(form.get('skip') ?? 0) };
      return {
        title: ui.words.participants.title,
        content: h(ParticipantsPage, {
          list: await loadParticipants(tx, await queryAll(tx, listStatements(narrowed))),
          narrowed,
        }),
      };
    },
  }),
  consolePage({
    path: '/console/enroll',
    summary: 'Go to enrolling or importing in a study',
    access: inStudy(),
    query: Type.Object({ study: Type.Optional(text(36)), what: Type.Optional(oneOf('enroll', 'import')) }),
    view: ({ query: { study, what = 'enroll' } }) => {
      if (!study || !/^[0-9a-fA-F-]{36}$/.test(study)) throw problem('NOT_FOUND');
      return redirect(`/console/studies/${study}/${what}`);
    },
  }),
];
