import { h } from 'preact';
import { staff } from '../../../http/access.js';
import { Type, oneOf } from '../../../http/common.schemas.js';
import { changeStudy, getStudyOrThrow } from '../../../studies/studies.service.js';
import { assertFormVersion } from '../../routing/form-version.js';
import { consoleForm, consolePage } from '../../routing/page.js';
import { redirect } from '../../routing/render.js';
import { messageEdit, messagesIn } from './messages.form.js';
import { MessagesPage } from './messages.page.js';

const path = '/console/studies/{study_id}/messages';

export const messagePages = [
  consolePage({
    path,
    summary: 'Show how a study writes to its participants, as a form',
    access: staff.configure,
    transaction: 'read',
    query: Type.Object({ said: Type.Optional(oneOf('saved')) }),
    view: async ({ tx, params, query, ui }) => {
      const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
      const content = h(MessagesPage, { study, edit: messageEdit(study), said: query.said });
      return { title: ui.words.edit.tabs.messages, content };
    },
  }),
  consoleForm({
    path,
    summary: 'Change how a study writes to its participants',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
      const config = messagesIn(form, study);
      await changeStudy({ tx, audit, actor, context }, study.id, { config }, assertFormVersion(form));
      return redirect(`/console/studies/${study.id}/messages?said=saved`);
    },
    again: ({ read, params, form, fault, ui }) =>
      read(async (tx) => {
        const study = await getStudyOrThrow(tx, params.study_id.toLowerCase());
        const content = h(MessagesPage, { study, edit: messageEdit(study, { form, fault }) });
        return { title: ui.words.edit.tabs.messages, content };
      }),
  }),
];
