import { h } from 'preact';
import { inStudy, outsideStudy, roles } from '../../../http/access.js';
import { check } from '../../../http/validation/validation.js';
import { NewStudy } from '../../../studies/studies.schemas.js';
import { createStudy, getStudyOrThrow, isStudyEmpty, removeStudy } from '../../../studies/studies.service.js';
import { assertFormVersion } from '../../routing/form-version.js';
import { consoleForm, consolePage } from '../../routing/page.js';
import { redirect } from '../../routing/render.js';
import type { Tx } from '../../../../db/client/database.js';
import { editOf, orNull, typedValue } from '../edit/edit.js';
import type { RefusedForm } from '../edit/edit.js';
import { DeleteStudyPage, NewStudyPage } from './new-study.page.js';

const path = '/console/studies/create';
const creator = outsideStudy(inStudy('researcher'));
const admins = roles('admin');

const newStudy = (sent?: RefusedForm) =>
  editOf(
    undefined,
    {
      study_code: '',
      study_name: '',
      description: '',
      start_date: '',
      end_date: '',
      timezone: 'UTC',
      consent_mode: 'none',
      datacapture_enabled: '',
    },
    sent,
  );

/** The typed study. @throws 422 */
function studyIn(form: URLSearchParams) {
  const said = (name: string) => typedValue(form, name).trim();
  const given = {
    study_code: said('study_code'),
    study_name: said('study_name'),
    description: orNull(said('description'), said('description')),
    start_date: orNull(said('start_date'), said('start_date')),
    end_date: orNull(said('end_date'), said('end_date')),
    timezone: said('timezone'),
    consent_mode: said('consent_mode') as 'none' | 'external' | 'econsent',
    datacapture_enabled: said('datacapture_enabled') !== '',
  };
  check(NewStudy, given, 'body');
  return given;
}

const deletable = async (tx: Tx, studyId: string) => ({
  study: await getStudyOrThrow(tx, studyId),
  mayDelete: await isStudyEmpty(tx, studyId),
});

export const newStudyPages = [
  consolePage({
    path,
    summary: 'Show the form of a study from nothing',
    access: creator,
    view: ({ ui }) => ({ title: ui.words.newStudy.title, content: h(NewStudyPage, { edit: newStudy() }) }),
  }),
  consoleForm({
    path,
    summary: 'Create a study from nothing',
    access: creator,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, form }) => {
      const { id } = await createStudy({ tx, audit, actor, context }, studyIn(form));
      return redirect(`/console/studies/${id}?said=created`);
    },
    again: ({ form, fault, ui }) => ({
      title: ui.words.newStudy.title,
      content: h(NewStudyPage, { edit: newStudy({ form, fault }) }),
    }),
  }),
  consolePage({
    path: '/console/studies/{study_id}/delete',
    summary: 'Show what deleting a study means',
    access: admins,
    transaction: 'read',
    view: async ({ tx, params, ui }) => ({
      title: ui.words.newStudy.remove,
      content: h(DeleteStudyPage, await deletable(tx, params.study_id.toLowerCase())),
    }),
  }),
  consoleForm({
    path: '/console/studies/{study_id}/delete',
    summary: 'Delete a study without participants',
    access: admins,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      await removeStudy({ tx, audit, actor, context }, params.study_id.toLowerCase(), assertFormVersion(form));
      return redirect('/console/studies');
    },
    again: ({ read, params, fault, ui }) =>
      read(async (tx) => ({
        title: ui.words.newStudy.remove,
        content: h(DeleteStudyPage, { ...(await deletable(tx, params.study_id.toLowerCase())), fault }),
      })),
  }),
];
