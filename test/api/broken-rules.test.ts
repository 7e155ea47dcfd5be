import { expect } from 'chai';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http } from '../support/http.js';

const NOBODY = '00000000-0000-4000-8000-000000000000';

/** A field that fits its schema and names what the study does not have, or goes against another field. */
describe('A body that fits its schema and breaks a rule is 400, with the field and the rule', () => {
  let http: Http;
  let study: string;
  let other: { study: string; battery: number; site: string };
  let participant: string;
  let window: string;
  let battery: number;
  let module: string;
  before(async () => {
    http = await admin();
    study = (await newStudy(http)).id;
    const elsewhere = (await newStudy(http)).id;
    participant = (await newParticipant(http, study)).id;
    const made = (of: string) =>
      http.expect<{ id: number; modules: { id: string }[] }>(201, 'POST', '/api/batteries', {
        study_id: of,
        code: unique('B'),
        name: 'B',
        modules: [{ task: 'stroop', name: 'Stroop' }],
      });
    const [own, theirs] = [await made(study), await made(elsewhere)];
    [battery, module] = [own.id, own.modules[0]!.id];
    const site = await http.expect<{ id: string }>(201, 'POST', `/api/studies/${elsewhere}/sites`, {
      site_code: 'X',
      name: 'X',
    });
    other = { study: elsewhere, battery: theirs.id, site: site.id };
    window = (
      await http.expect<{ id: string }>(201, 'POST', '/api/schedules/windows', {
        study_id: study,
        code: 'W',
        name: 'W',
        target_day: 0,
      })
    ).id;
  });

  const day = { target_date: '2024-03-10', window_open: '2024-03-10', window_close: '2024-03-10' };
  const cases: [title: string, method: string, path: () => string, body: () => object, field: string, code: string][] =
    [
      [
        'a window with a battery of another study',
        'POST',
        () => '/api/schedules/windows',
        () => ({ study_id: study, code: 'V', name: 'V', target_day: 1, battery_id: other.battery }),
        'battery_id',
        'UNKNOWN_BATTERY',
      ],
      [
        'a window that is given one',
        'PATCH',
        () => `/api/schedules/windows/${window}`,
        () => ({ battery_id: other.battery }),
        'battery_id',
        'UNKNOWN_BATTERY',
      ],
      [
        'an event with one',
        'POST',
        () => `/api/studies/${study}/event-definitions`,
        () => ({ event_oid: 'E', name: 'E', target_day: 0, battery_id: other.battery }),
        'battery_id',
        'UNKNOWN_BATTERY',
      ],
      [
        'a visit with one',
        'POST',
        () => '/api/schedules/visits',
        () => ({ participant_id: participant, name: 'V', ...day, battery_id: other.battery }),
        'battery_id',
        'UNKNOWN_BATTERY',
      ],
      [
        'a visit of another study than its participant',
        'POST',
        () => '/api/schedules/visits',
        () => ({ participant_id: participant, study_id: other.study, name: 'V', ...day }),
        'study_id',
        'OTHER_STUDY',
      ],
      [
        'a calendar for a site of another study',
        'POST',
        () => `/api/studies/${study}/holiday-calendars`,
        () => ({ name: 'C', site_id: other.site }),
        'site_id',
        'UNKNOWN_SITE',
      ],
      [
        'a participant at one',
        'POST',
        () => `/api/studies/${study}/participants`,
        () => ({ participant_code: unique('P'), site_id: other.site }),
        'site_id',
        'UNKNOWN_SITE',
      ],
      [
        'a participant who goes to an unknown one',
        'PATCH',
        () => `/api/participants/${participant}`,
        () => ({ site_code: 'NOWHERE' }),
        'site_code',
        'UNKNOWN_SITE',
      ],
      [
        'a session at one',
        'POST',
        () => '/api/session/start',
        () => ({ participant_id: participant, site_id: other.site, language: 'en' }),
        'site_id',
        'UNKNOWN_SITE',
      ],
      [
        'an order of modules that leaves one out',
        'PUT',
        () => `/api/batteries/${battery}/modules`,
        () => ({ module_ids: [] }),
        'module_ids',
        'INCOMPLETE',
      ],
      [
        'an order that names one twice',
        'PUT',
        () => `/api/batteries/${battery}/modules`,
        () => ({ module_ids: [module, module] }),
        'module_ids',
        'DUPLICATE',
      ],
      [
        'an order that names a strange one',
        'PUT',
        () => `/api/batteries/${battery}/modules`,
        () => ({ module_ids: [NOBODY] }),
        'module_ids.0',
        'UNKNOWN_MODULE',
      ],
      [
        'a user of a study that does not exist',
        'POST',
        () => '/api/auth/register',
        () => ({
          email: `${unique('u')}@example.org`,
          name: 'N',
          role: 'coordinator',
          password: 'correct blue staple 42',
          study_ids: [NOBODY],
        }),
        'study_ids',
        'UNKNOWN_STUDY',
      ],
    ];
  for (const [title, method, path, body, field, code] of cases)
    it(title, async () => {
      const answer = await http.send(method, path(), body());
      expect(
        [answer.status, answer.body.code, answer.body.errors?.[0]?.path, answer.body.errors?.[0]?.code],
        answer.text,
      ).to.deep.equal([400, 'RULE_VIOLATED', field, code]);
    });
});
