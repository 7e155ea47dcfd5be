import { expect } from 'chai';
import { Stage } from '../capture/support.js';
import type { CaptureStudy } from '../capture/support.js';
import { Http, admin, goodPassword, login, unique, user } from '../support/http.js';

/** What the other tests call in other ways, or not with a success. Every answer is compared with the contract. */
describe('Calls that succeed', function suite() {
  this.timeout(180_000);

  describe('under the former paths of the capture system', () => {
    let stage: Stage;
    let study: CaptureStudy;
    before(async () => {
      stage = await Stage.set();
      study = await stage.study();
    });
    after(() => stage.clear());

    for (const [method, path, status, body] of [
      ['GET', 'config/:study', 200],
      ['PATCH', 'config/:study', 200, { poll_interval_minutes: 60 }],
      ['GET', 'config/:study/event-mapping', 200],
      ['GET', 'config/:study/events', 200],
      ['GET', 'config/:study/instruments', 200],
      ['POST', 'config/:study/test-connection', 200],
      ['GET', 'status/:study', 200],
      ['POST', 'sync/:study', 202],
    ] as const) {
      for (const prefix of ['/api/datacapture', '/api/redcap']) {
        it(`${method} ${prefix}/${path} answers ${status}`, async () => {
          const answer = await stage.call(method, `${prefix}/${path.replace(':study', study.id)}`, body);
          expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
          expect(answer.headers.get('deprecation') !== null).to.equal(prefix === '/api/redcap');
        });
      }
    }

    for (const prefix of ['datacapture', 'redcap']) {
      it(`the event mapping under /api/${prefix} is replaced by itself`, async () => {
        const path = `/api/${prefix}/config/${study.id}/event-mapping`;
        const { event_battery_mapping } = (await stage.call('GET', path)).body;
        expect((await stage.call('PUT', path, { event_battery_mapping })).status).to.equal(200);
      });

      it(`windows are made of the events under /api/studies/…/${prefix}`, async () => {
        expect((await stage.call('POST', `/api/studies/${study.id}/${prefix}/sync-events`, {})).status).to.equal(200);
      });
    }

    it('a trigger is taken', async () => {
      const fields = { record: 'R-1', redcap_event_name: 'baseline_arm_1', enroll_complete: '2' };
      expect((await study.trigger(fields)).status).to.equal(200);
      const form = new URLSearchParams({ project_id: study.projectId, instrument: 'enroll', ...fields }).toString();
      await new Http(stage.run.api).expect(200, 'POST', '/api/webhooks/redcap/det', undefined, {
        raw: { type: 'application/x-www-form-urlencoded', content: form },
        headers: study.signature(form),
      });
    });

    it('a sync says how far it is', async () => {
      const { body } = await stage.call<{ sync_id: string }>('POST', `/api/datacapture/sync/${study.id}`);
      expect((await stage.call('GET', `/api/datacapture/syncs/${body.sync_id}`)).status).to.equal(200);
    });
  });

  describe('of one’s own account', () => {
    it('a login is listed, ended, and all of them are', async () => {
      const by = await admin();
      const { email } = await user(by, 'researcher');
      const { http } = await login(by.base, email, goodPassword);
      const { items } = await http.expect(200, 'GET', '/api/auth/sessions');
      const other = items.find(({ current }) => current !== true);
      expect((await http.delete(`/api/auth/sessions/${other!.id}`)).status).to.equal(204);
      expect((await http.post('/api/auth/logout-all', {})).status).to.equal(204);
    });

    it('a password is changed and asked for again', async () => {
      const by = await admin();
      const { email } = await user(by, 'researcher');
      const { http, tokens } = await login(by.base, email, goodPassword);
      await http.expect(202, 'POST', '/api/auth/password/forgot', { email });
      const left = await http.post('/api/auth/logout', { refresh_token: tokens.refresh_token });
      expect(left.status).to.equal(204);
      const again = await login(by.base, email, goodPassword);
      const changed = await again.http.post('/api/auth/password', {
        current_password: goodPassword,
        new_password: `${unique('another')} long password`,
      });
      expect(changed.status, changed.text).to.equal(204);
    });

    it('an invitation is sent, and sent again', async () => {
      const by = await admin();
      const invited = await by.expect(201, 'POST', '/api/users/invite', {
        email: `${unique('invited')}@example.org`,
        name: 'Invited',
        role: 'coordinator',
      });
      await by.expect(202, 'POST', `/api/users/${invited.id}/invite`, {});
    });
  });

  for (const [path, status] of [
    ['/api/health', 200],
    ['/api/health/db', 200],
    ['/api/health/redis', 200],
    ['/api/health/detailed', 200],
    ['/api/metrics/health', 200],
    ['/api/metrics/prometheus', 200],
  ] as const) {
    it(`GET ${path} answers ${status}`, async () => {
      expect((await (await admin()).get(path)).status).to.equal(status);
    });
  }
});
