import { expect } from 'chai';
import { Http, admin, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';

interface Window {
  code: string;
  target_day: number;
  battery: string | null;
  window_before: number;
  window_after: number;
}
interface Full extends Loose {
  category: string;
  study: { config: { notifications: { languages: Record<string, object> } } };
  batteries: { code: string; modules: { task: string }[] }[];
  visit_windows: Window[];
  capture: { event_battery_mapping: Record<string, unknown> };
}
interface Applied {
  study_id: string;
  study_code: string;
  study_name: string;
  message: string;
  batteries_created: number;
  visit_windows_created: number;
}

describe('Study templates', function () {
  let root: Http;
  let all: Full[];
  before(async () => {
    root = await admin();
    const { items } = await root.expect<Loose>(200, 'GET', '/api/templates?source=built_in&limit=500');
    all = await Promise.all(items.map(({ id }) => root.expect<Full>(200, 'GET', `/api/templates/${id}`)));
  });

  it('there are at least five, in three categories, each a whole design with texts in two languages', async () => {
    expect(all.length).to.be.at.least(5);
    expect(all.map(({ id }) => id)).to.include('longitudinal-cognition');
    const categories = await root.expect<{ items: { category: string; templates: number }[]; total: number }>(
      200,
      'GET',
      '/api/templates/categories',
    );
    expect(categories.total).to.be.at.least(3);
    expect(categories.items.find(({ category }) => category === all[0]!.category)!.templates).to.be.at.least(1);
    for (const one of all) {
      expect(Object.keys(one.study.config.notifications.languages).length, one.id).to.be.at.least(2);
      expect(
        one.batteries.every(({ modules }) => modules.length > 0),
        one.id,
      ).to.equal(true);
      expect(one.visit_windows.length, one.id).to.be.at.least(3);
      expect(Object.keys(one.capture.event_battery_mapping), one.id).to.have.length(one.visit_windows.length);
      const codes = one.batteries.map(({ code }) => code);
      for (const { battery } of one.visit_windows) expect(codes, one.id).to.include(battery);
    }
  });

  it('each applies as its preview says: study, policy, texts, published batteries, windows', async () => {
    for (const one of all) {
      const preview = await root.expect<
        Loose & {
          batteries: { code: string; modules: object[] }[];
          visit_windows: Window[];
          enrollment_date_policy: object;
          notifications: object;
        }
      >(200, 'GET', `/api/templates/${one.id}/preview`);
      const code = unique('T');
      const applied = await root.expect<Applied>(
        201,
        'POST',
        `/api/templates/${one.id}/apply?study_code=${code}&study_name=${encodeURIComponent('Étude & Co')}`,
      );
      expect(applied).to.include({
        study_code: code,
        study_name: 'Étude & Co',
        batteries_created: preview.batteries_created,
        visit_windows_created: preview.visit_windows_created,
      });
      expect(applied.message).to.be.a('string').and.not.equal('');
      const study = await root.expect<Loose & { config: Record<string, object> }>(
        200,
        'GET',
        `/api/studies/${applied.study_id}`,
      );
      expect(study.config.enrollment_date_policy, one.id).to.deep.equal(preview.enrollment_date_policy);
      expect(study.config.notifications, one.id).to.deep.equal(preview.notifications);
      const batteries = (await root.expect<Loose>(200, 'GET', `/api/batteries?study_id=${study.id}`)).items;
      const withoutIds = batteries.map((b) => ({
        code: b.code,
        status: b.status,
        modules: (b.modules as Record<string, unknown>[]).map(({ id: _id, ...module }) => module),
      }));
      expect(withoutIds, one.id).to.have.deep.members(
        preview.batteries.map((b) => ({ code: b.code, status: 'published', modules: b.modules })),
      );
      const windows = (await root.expect<Loose>(200, 'GET', `/api/schedules/windows?study_id=${study.id}&limit=500`))
        .items;
      expect(
        windows.map((w) => ({
          code: w.code,
          day: w.target_day,
          battery: batteries.find((b) => b.id === w.battery_id)?.code,
        })),
        one.id,
      ).to.have.deep.members(
        preview.visit_windows.map((w) => ({ code: w.code, day: w.target_day, battery: w.battery })),
      );
    }
  });

  it('a code that is taken is 409 and leaves nothing half-made; without a code 422', async () => {
    const taken = await newStudy(root);
    const before = (await root.expect<Loose>(200, 'GET', '/api/studies')).total;
    const answer = await root.post(
      `/api/templates/longitudinal-cognition/apply?study_code=${taken.study_code as unknown as string}&study_name=X`,
    );
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'STUDY_CODE_TAKEN']);
    for (const query of ['', '?study_name=X', '?study_code='])
      expect((await root.post(`/api/templates/longitudinal-cognition/apply${query}`)).status, query).to.equal(422);
    expect((await root.expect<Loose>(200, 'GET', '/api/studies')).total).to.equal(before);
    expect((await root.get(`/api/batteries?study_id=${taken.id}`)).body.total).to.equal(0);
    expect((await root.post(`/api/templates/no-such/apply?study_code=${unique()}`)).status).to.equal(404);
    expect((await root.get('/api/templates/no-such/preview')).status).to.equal(404);
  });

  it('applied five times at once with one code, it makes one study, and of the others nothing', async () => {
    const code = unique('RACE');
    const rows = async () =>
      (await root.expect<Loose>(200, 'GET', '/api/batteries?limit=1')).total +
      (await root.expect<Loose>(200, 'GET', '/api/schedules/windows?limit=1')).total;
    const before = await rows();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        root.post<Applied & Loose>(`/api/templates/longitudinal-cognition/apply?study_code=${code}`),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409]);
    const made = answers.find(({ status }) => status === 201)!.body;
    expect((await rows()) - before).to.equal(made.batteries_created + made.visit_windows_created);
  });

  it('a researcher is assigned to what they make; a coordinator may look but not apply; all of it is recorded', async () => {
    const researcher = await user(root, 'researcher'),
      coordinator = await user(root, 'coordinator');
    const { study_id } = await researcher.expect<Applied>(
      201,
      'POST',
      `/api/templates/concussion-recovery/apply?study_code=${unique('R')}`,
    );
    expect((await researcher.get(`/api/studies/${study_id}`)).status).to.equal(200);
    expect((await coordinator.get('/api/templates')).status).to.equal(200);
    expect(
      (await coordinator.post(`/api/templates/concussion-recovery/apply?study_code=${unique('R')}`)).status,
    ).to.equal(403);
    expect((await new Http(root.base).get('/api/templates')).status).to.equal(401);
    const audit = await root.expect<Loose>(200, 'GET', `/api/audit?study_id=${study_id}&limit=500`);
    expect(audit.items.map(({ action }) => action))
      .to.include('template_applied')
      .and.include('study_created')
      .and.include('battery_published');
  });

  it('a new configuration of a capture system takes the template’s mappings over, with the study’s own batteries', async () => {
    const { study_id } = await root.expect<Applied>(
      201,
      'POST',
      `/api/templates/longitudinal-cognition/apply?study_code=${unique('C')}`,
    );
    await root.expect(201, 'PATCH', `/api/datacapture/config/${study_id}`, {
      api_url: 'http://127.0.0.1:9/api/',
      api_token: '0123456789ABCDEF',
      enrollment_instrument: 'my_form',
    });
    const mapping = await root.expect<{
      event_battery_mapping: Record<string, { battery_id: number; target_day: number }>;
      enrollment_instrument: string;
    }>(200, 'GET', `/api/datacapture/config/${study_id}/event-mapping`);
    const batteries = (await root.expect<Loose>(200, 'GET', `/api/batteries?study_id=${study_id}`)).items;
    expect(mapping.enrollment_instrument).to.equal('my_form');
    expect(mapping.event_battery_mapping.year_1_arm_1).to.include({
      battery_id: batteries.find((b) => b.code === 'FULL')!.id,
      target_day: 365,
    });
  });

  it('a study is saved as a template and makes the same study again, for those who see it', async () => {
    const { study_id } = await root.expect<Applied>(
      201,
      'POST',
      `/api/templates/randomized-training-trial/apply?study_code=${unique('S')}`,
    );
    await root.expect(201, 'POST', '/api/schedules/windows', {
      study_id,
      code: 'EXTRA',
      name: 'One more',
      target_day: 400,
    });
    const template_id = unique('saved');
    const saved = await root.expect<Full>(201, 'POST', `/api/studies/${study_id}/template`, {
      template_id,
      name: 'Mine',
      category: 'own-designs',
    });
    expect(saved.visit_windows.map(({ code }) => code)).to.include('EXTRA');
    expect(JSON.stringify(saved)).not.to.match(/battery_id/);
    expect((await root.post(`/api/studies/${study_id}/template`, { template_id, name: 'Again' })).status).to.equal(409);
    expect(
      (await root.post(`/api/studies/${study_id}/template`, { template_id: 'longitudinal-cognition', name: 'Again' }))
        .status,
    ).to.equal(409);
    const again = await root.expect<Applied>(
      201,
      'POST',
      `/api/templates/${template_id}/apply?study_code=${unique('S')}`,
    );
    const second = await root.expect<Full>(201, 'POST', `/api/studies/${again.study_id}/template`, {
      template_id: unique('saved'),
      name: 'Mine',
    });
    expect(second.batteries).to.deep.equal(saved.batteries);
    expect(second.visit_windows).to.deep.equal(saved.visit_windows);
    expect(second.capture).to.deep.equal(saved.capture);
    expect(Object.keys(saved.capture.event_battery_mapping)).to.include('t2_arm_1');
    const outsider = await user(root, 'researcher');
    expect((await outsider.get(`/api/templates/${template_id}`)).status).to.equal(404);
    expect((await root.delete(`/api/templates/${template_id}`)).status).to.equal(204);
    expect((await root.get(`/api/templates/${template_id}`)).status).to.equal(404);
  });

  it('the calendars of a whole study are part of its template: visits keep to the same holidays again', async () => {
    const calendar = {
      name: 'Clinic',
      is_default: true,
      weekend_days: [5, 6],
      holidays: [{ date: '2031-05-01', name: 'Erster Mai' }],
    };
    const study = await newStudy(root, { config: { scheduling_mode: 'edc' } });
    const at = `/api/studies/${study.id}`;
    await root.expect(201, 'POST', `${at}/holiday-calendars`, calendar);
    const { id: site_id } = await root.expect(201, 'POST', `${at}/sites`, { site_code: 'BER' });
    await root.expect(201, 'POST', `${at}/holiday-calendars`, { name: 'Berlin', site_id });
    const template_id = unique('saved');
    const saved = await root.expect(201, 'POST', `${at}/template`, { template_id, name: 'Mine' });
    expect(saved.holiday_calendars, 'a template has no sites').to.deep.equal([calendar]);
    const preview = await root.expect(200, 'GET', `/api/templates/${template_id}/preview`);
    expect(preview.holiday_calendars).to.deep.equal([calendar]);
    const made = await root.expect<Applied>(
      201,
      'POST',
      `/api/templates/${template_id}/apply?study_code=${unique('S')}`,
    );
    const { items } = await root.expect(200, 'GET', `/api/studies/${made.study_id}/holiday-calendars`);
    expect(items).to.have.length(1);
    expect(items[0]).to.deep.include({ ...calendar, site_id: null });
  });

  it('an event of the capture system whose battery was retired stays in the plan, as a window', async () => {
    const study = await newStudy(root);
    const battery = await root.expect(201, 'POST', '/api/batteries', {
      study_id: study.id,
      code: unique('B'),
      name: 'B',
      modules: [{ task: 'stroop' }],
    });
    const days = { target_day: 30, window_before: 2, window_after: 5 };
    await root.expect(201, 'PATCH', `/api/datacapture/config/${study.id}`, {
      api_url: 'http://127.0.0.1:9/api/',
      api_token: 'A'.repeat(32),
      event_battery_mapping: { visit_1_arm_1: { battery_id: battery.id, ...days } },
    });
    await root.expect(200, 'PATCH', `/api/batteries/${battery.id}`, { status: 'retired' });
    const template_id = unique('saved');
    await root.expect(201, 'POST', `/api/studies/${study.id}/template`, { template_id, name: 'Mine' });
    const window = { name: 'visit_1_arm_1', datacapture_event: 'visit_1_arm_1', ...days };
    const preview = await root.expect<Full>(200, 'GET', `/api/templates/${template_id}/preview`);
    expect(preview.visit_windows).to.have.length(1);
    expect(preview.visit_windows[0]).to.include({ ...window, battery: null });
    const made = await root.expect<Applied>(
      201,
      'POST',
      `/api/templates/${template_id}/apply?study_code=${unique('S')}`,
    );
    expect(made.visit_windows_created).to.equal(1);
    const { items } = await root.expect(200, 'GET', `/api/schedules/windows?study_id=${made.study_id}`);
    expect(items).to.have.length(1);
    expect(items[0]).to.include({ ...window, code: 'visit_1_arm_1', battery_id: null });
  });
});
