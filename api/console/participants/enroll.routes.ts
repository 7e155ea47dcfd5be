import { h } from 'preact';
import type { Tx } from '../../../db/client/database.js';
import { listSites, siteInReach } from '../../../db/studies/sites.queries.js';
import { studyById } from '../../../db/studies/studies.queries.js';
import { staff } from '../../http/access.js';
import type { Actor } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import { check } from '../../http/validation/validation.js';
import { NewParticipant } from '../../participants/participants.schemas.js';
import { enrollParticipant } from '../../participants/participants.service.js';
import type { Fields } from '../../participants/participants.service.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { EnrollPage } from './enroll.page.js';
import type { EnrollView } from './enroll.page.js';
import { personPath } from './participant.page.js';

const path = '/console/studies/{study_id}/enroll';

/** The form's study, with the sites at which this user may enroll. @throws 404 */
async function load(tx: Tx, { site_ids }: Actor, studyId: string): Promise<EnrollView> {
  const study = await studyById(tx, studyId);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  const { items } = await listSites(tx, studyId, { skip: 0, limit: 500, sort: 'site_code', status: 'active' });
  const atAnySite = site_ids.length === 0 || (await siteInReach(tx, study.id, null));
  return { study, atAnySite, sites: atAnySite ? items : items.filter(({ id }) => site_ids.includes(id)) };
}

/** The typed fields, without empty ones. */
const filledIn = (form: URLSearchParams): Record<string, string> =>
  Object.fromEntries(
    Object.keys(NewParticipant.properties).flatMap((name) => {
      const value = form.get(name)?.trim();
      return value ? [[name, value] as const] : [];
    }),
  );

export const enrollPages = [
  consolePage({
    path,
    summary: 'Show the form by which a participant is enrolled',
    access: staff.participants,
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => {
      const view = await load(tx, actor, params.study_id.toLowerCase());
      return { title: ui.words.participants.enroll, content: h(EnrollPage, { view }) };
    },
  }),
  consoleForm({
    path,
    summary: 'Enroll a participant from the console',
    access: staff.participants,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const given = filledIn(form);
      check(NewParticipant, given, 'body');
      const enrolled = await enrollParticipant(
        { tx, audit, actor, context },
        params.study_id.toLowerCase(),
        given as unknown as Fields & { participant_code: string },
      );
      return redirect(`${personPath(enrolled.id)}?tab=date&done=enrolled`);
    },
    again: async ({ read, params, form, fault, ui }) => {
      const view = await read((tx, actor) => load(tx, actor, params.study_id.toLowerCase()));
      const values = Object.fromEntries(form);
      return { title: ui.words.participants.enroll, content: h(EnrollPage, { view, values, fault }) };
    },
  }),
];
