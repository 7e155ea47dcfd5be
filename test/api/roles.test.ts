import { expect } from 'chai';
import { admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose, Role } from '../support/http.js';

const roles: readonly Role[] = ['admin', 'researcher', 'coordinator', 'investigator', 'data_manager'];
const all = 'admin researcher coordinator investigator data_manager';
const care = 'admin researcher coordinator investigator';
const configure = 'admin researcher';
const exports = 'admin researcher data_manager';

/**
 * The table of role × endpoint, written here independently of the code. A role that is named gets past the
 * permission (whatever comes after it), one that is not gets 403. Bodies are such that nothing is changed.
 */
const table: [method: string, path: string, roles: string, body?: unknown][] = [
  ['GET', '/api/auth/me', all],
  ['POST', '/api/auth/register', 'admin', {}],
  ['POST', '/api/auth/password', all, {}],
  ['GET', '/api/users', 'admin'],
  ['PATCH', '/api/users/{nobody}', 'admin', {}],
  ['GET', '/api/studies', all],
  ['POST', '/api/studies', configure, {}],
  ['GET', '/api/studies/{study}', all],
  ['PATCH', '/api/studies/{study}', configure, {}],
  ['DELETE', '/api/studies/{study}', 'admin'],
  ['GET', '/api/studies/{study}/events', all],
  ['GET', '/api/studies/{study}/event-subscriptions', 'admin researcher data_manager'],
  ['POST', '/api/studies/{study}/event-subscriptions', configure, {}],
  ['GET', '/api/studies/{study}/event-subscriptions/{nobody}', 'admin researcher data_manager'],
  ['PATCH', '/api/studies/{study}/event-subscriptions/{nobody}', configure, {}],
  ['DELETE', '/api/studies/{study}/event-subscriptions/{nobody}', configure],
  ['POST', '/api/studies/{study}/event-subscriptions/{nobody}/rotate-secret', configure],
  ['GET', '/api/studies/{study}/event-subscriptions/{nobody}/deliveries', 'admin researcher data_manager'],
  ['POST', '/api/studies/{study}/event-subscriptions/{nobody}/deliveries/{nobody}/redeliver', configure],
  ['GET', '/api/studies/{study}/sites', all],
  ['POST', '/api/studies/{study}/sites', configure, {}],
  ['GET', '/api/sites/{site}', all],
  ['PATCH', '/api/sites/{site}', configure, {}],
  ['GET', '/api/studies/{study}/participants', all],
  ['POST', '/api/studies/{study}/participants', care, {}],
  ['POST', '/api/studies/{study}/participants/import/csv', all, {}],
  ['POST', '/api/studies/{study}/participants/import/excel', all, {}],
  ['GET', '/api/studies/{study}/participants/import/template', all],
  ['POST', '/api/exports/csv', exports, {}],
  ['POST', '/api/exports/json', exports, {}],
  ['GET', '/api/exports/{nobody}', exports],
  ['GET', '/api/exports/studies/{study}/full', exports],
  ['POST', '/api/studies/import/full', exports, {}],
  ['GET', '/api/participants', all],
  ['GET', '/api/participants/{participant}', all],
  ['PATCH', '/api/participants/{participant}', care, {}],
  ['DELETE', '/api/participants/{participant}', care],
  ['POST', '/api/participants/{participant}/withdraw', care, {}],
  ['GET', '/api/studies/{study}/caregivers', care],
  ['POST', '/api/studies/{study}/caregivers', care, { status: 'x' }],
  ['GET', '/api/studies/{study}/caregivers/{nobody}', care],
  ['PATCH', '/api/studies/{study}/caregivers/{nobody}', care, {}],
  ['DELETE', '/api/studies/{study}/caregivers/{nobody}', care],
  ['PUT', '/api/studies/{study}/caregivers/{nobody}/participants/{participant}', care, {}],
  ['DELETE', '/api/studies/{study}/caregivers/{nobody}/participants/{participant}', care],
  ['GET', '/api/participants/{participant}/caregivers', care],
  ['GET', '/api/studies/{study}/participants/{participant}/consents', all],
  ['POST', '/api/studies/{study}/participants/{participant}/consents', care, { status: 'x' }],
  ['PATCH', '/api/studies/{study}/participants/{participant}/consents/{nobody}', care, {}],
  ['GET', '/api/studies/{study}/participants/{participant}/eligibility', all],
  ['PUT', '/api/studies/{study}/participants/{participant}/eligibility', care, { status: 'x' }],
  ['GET', '/api/studies/{study}/participants/{participant}/randomization', all],
  ['POST', '/api/studies/{study}/participants/{participant}/randomization', care, {}],
  ['GET', '/api/studies/{study}/participants/{participant}/forms', all],
  ['POST', '/api/studies/{study}/participants/{participant}/forms', care, {}],
  ['PATCH', '/api/studies/{study}/participants/{participant}/forms/{nobody}', care, {}],
  ['GET', '/api/schedules/windows', all],
  ['POST', '/api/schedules/windows', configure, {}],
  ['GET', '/api/schedules/windows/{nobody}', all],
  ['PATCH', '/api/schedules/windows/{nobody}', configure, {}],
  ['DELETE', '/api/schedules/windows/{nobody}', configure],
  ['GET', '/api/schedules/visits', all],
  ['POST', '/api/schedules/visits', care, {}],
  ['GET', '/api/visits/{nobody}', all],
  ['PATCH', '/api/visits/{nobody}', care, {}],
  ['POST', '/api/visits/{nobody}/complete', care, {}],
  ['GET', '/api/notifications', all],
  ['GET', '/api/visits/{nobody}/notifications/explain', all],
  ['POST', '/api/notifications/{nobody}/resend', care],
  ['POST', '/api/notifications/{nobody}/cancel', care],
  ['POST', '/api/notifications/preview', care, {}],
  ['POST', '/api/notifications/register', care, {}],
  ['POST', '/api/test/email', all, {}],
  ['POST', '/api/test/sms', all, {}],
  ['GET', '/api/sessions/{nobody}/pushes', all],
  ['POST', '/api/sessions/{nobody}/push', all],
  ['GET', '/api/studies/{study}/push-failures', all],
  ['POST', '/api/datacapture/sync/{study}', 'admin researcher data_manager'],
  ['GET', '/api/datacapture/syncs/{nobody}', all],
  ['GET', '/api/studies/{study}/datacapture/syncs', all],
];

describe('Role × endpoint', () => {
  const callers = new Map<Role, Http>();
  let study: Loose;
  let values: Record<string, string>;
  before(async () => {
    const root = await admin();
    study = await newStudy(root);
    const site = await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'A' });
    const participant = await newParticipant(root, study.id);
    // So that no DELETE of this table finds it empty.
    await root.expect(201, 'POST', `/api/studies/${study.id}/participants/${participant.id}/consents`, {});
    values = {
      study: study.id,
      site: site.id,
      participant: participant.id,
      nobody: '00000000-0000-4000-8000-000000000000',
    };
    for (const role of roles)
      callers.set(role, role === 'admin' ? root : await user(root, role, { study_ids: [study.id] }));
  });

  for (const [method, path, allowed, body] of table) {
    it(`${method} ${path}: ${allowed === all ? 'every role' : allowed}`, async () => {
      const real = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]!);
      for (const role of roles) {
        const answer = await callers.get(role)!.send(method, real, body);
        const expected = allowed.split(' ').includes(role);
        expect(answer.status === 403, `${role}: ${answer.status} ${answer.text.slice(0, 200)}`).to.equal(!expected);
        expect(answer.status, `${role}: ${answer.text}`).to.be.below(500).and.not.equal(401);
      }
    });
  }

  it('every one of them is 401 without a token', async () => {
    const { Http: Caller } = await import('../support/http.js');
    const nobody = new Caller(callers.get('admin')!.base);
    for (const [method, path, , body] of table) {
      const real = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]!);
      expect((await nobody.send(method, real, body)).status, `${method} ${path}`).to.equal(401);
    }
  });

  describe('what depends on what is done', () => {
    let of: string;
    beforeEach(async () => {
      of = `/api/studies/${study.id}/participants/${(await newParticipant(callers.get('admin')!, study.id, { participant_code: unique() })).id}`;
    });
    for (const [role, status] of [
      ['admin', 200],
      ['researcher', 200],
      ['investigator', 200],
      ['coordinator', 403],
    ] as const) {
      it(`${role} confirming eligibility: ${status}`, async () => {
        expect((await callers.get(role)!.put(`${of}/eligibility`, { status: 'pending' })).status).to.equal(200);
        expect((await callers.get(role)!.put(`${of}/eligibility`, { status: 'eligible' })).status).to.equal(status);
      });
    }
    for (const [role, status] of [
      ['admin', 200],
      ['investigator', 200],
      ['researcher', 403],
      ['coordinator', 403],
    ] as const) {
      it(`${role} signing a form: ${status}`, async () => {
        const form = await callers.get(role)!.expect(201, 'POST', `${of}/forms`, { form_oid: 'F', status: 'complete' });
        expect((await callers.get(role)!.patch(`${of}/forms/${form.id}`, { status: 'signed' })).status).to.equal(
          status,
        );
      });
    }
  });
});
