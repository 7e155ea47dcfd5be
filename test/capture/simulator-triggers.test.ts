import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { startSimulator, type Simulator } from '../capture-simulator/server.js';
import { CLASSIC, LONGITUDINAL, Receiver, TOKENS, callApi, importRow } from './simulator-client.js';

const SECRET = 'a shared secret of the study';
const hmac = (text: string): string => createHmac('sha256', SECRET).update(text).digest('hex');
const keys = (body: string): string[] => [...new URLSearchParams(body).keys()];

describe('The capture simulator: data entry triggers', () => {
  const receiver = new Receiver();
  let simulator: Simulator;

  before(async () => {
    await receiver.start();
    simulator = await startSimulator({ trigger: { url: receiver.url, secret: SECRET } });
  });
  after(async () => {
    await simulator.stop();
    await receiver.stop();
  });
  beforeEach(() => {
    simulator.control.reset();
    simulator.control.setTrigger(LONGITUDINAL, {
      url: receiver.url,
      prefix: 'datacapture_',
      signing: 'header',
      timestamp: false,
    });
    receiver.received.length = 0;
    receiver.status = 200;
  });

  it('has the keys that apply, and no blank ones, for a record in no group', async () => {
    await simulator.control.saveForm(LONGITUDINAL, {
      record: 'new/β 1',
      instrument: 'enrollment',
      event: 'baseline_arm_1',
      values: { enrollment_date: '2025-03-01' },
    });
    const body = receiver.received[0]?.body ?? '';
    expect(keys(body)).to.deep.equal([
      'datacapture_url',
      'project_url',
      'project_id',
      'username',
      'record',
      'datacapture_event_name',
      'instrument',
      'enrollment_complete',
    ]);
    const form = new URLSearchParams(body);
    expect(form.get('record')).to.equal('new/β 1');
    expect(form.get('project_id')).to.equal('21');
    expect(form.get('enrollment_complete')).to.equal('2');
    expect(form.get('datacapture_event_name')).to.equal('baseline_arm_1');
    expect(form.get('username')).to.equal('integration');
    expect(receiver.received[0]?.headers['content-type']).to.equal('application/x-www-form-urlencoded');
  });

  it('adds group, instance and repeating instrument where they apply', async () => {
    await simulator.control.saveForm(LONGITUDINAL, {
      record: '1001',
      instrument: 'adverse_events',
      event: 'month_3_arm_1',
      repeat_instance: 3,
      values: { ae_term: 'Cough' },
      complete: '0',
    });
    const form = new URLSearchParams(receiver.received[0]?.body);
    expect(form.get('datacapture_data_access_group')).to.equal('site_lyon');
    expect(form.get('datacapture_repeat_instance')).to.equal('3');
    expect(form.get('datacapture_repeat_instrument')).to.equal('adverse_events');
    expect(form.get('adverse_events_complete')).to.equal('0');
  });

  it('names the instance but no instrument for a repeating event', async () => {
    await simulator.control.saveForm(LONGITUDINAL, {
      record: '1001',
      instrument: 'phone_contact',
      event: 'phone_contact_arm_1',
      repeat_instance: 2,
      values: {},
    });
    const found = keys(receiver.received[0]?.body ?? '');
    expect(found).to.include('datacapture_repeat_instance').and.not.include('datacapture_repeat_instrument');
  });

  it('has no event name in a classic project, and the other prefix where that is set', async () => {
    await simulator.control.saveForm(CLASSIC, { record: '1', instrument: 'enrollment', values: { language: 'de' } });
    expect(keys(receiver.received[0]?.body ?? '')).to.deep.equal([
      'redcap_url',
      'project_url',
      'project_id',
      'username',
      'record',
      'instrument',
      'enrollment_complete',
    ]);
  });

  it('signs the body in a header, with a time stamp where that is set, or the project in the URL', async () => {
    const save = async (projectId: number): Promise<void> => {
      await simulator.control.saveForm(projectId, { record: '1', instrument: 'enrollment', values: {} });
    };
    await save(LONGITUDINAL);
    simulator.control.setTrigger(LONGITUDINAL, { timestamp: true });
    await save(LONGITUDINAL);
    await save(CLASSIC);
    simulator.control.setTrigger(LONGITUDINAL, { signing: 'none' });
    await save(LONGITUDINAL);
    const [plain, stamped, byUrl, unsigned] = receiver.received;
    expect(plain?.headers['x-datacapture-signature']).to.equal(`sha256=${hmac(plain?.body ?? '')}`);
    expect(plain?.headers['x-datacapture-timestamp']).to.equal(undefined);
    const time = stamped?.headers['x-datacapture-timestamp'];
    expect(Math.abs(Number(time) - Date.now() / 1000)).to.be.below(60);
    expect(stamped?.headers['x-datacapture-signature']).to.equal(
      `sha256=${hmac(`${String(time)}.${stamped?.body ?? ''}`)}`,
    );
    expect(byUrl?.path).to.equal(`/det?signature=${hmac('det:22')}`);
    expect(byUrl?.headers['x-datacapture-signature']).to.equal(undefined);
    expect(unsigned?.headers['x-datacapture-signature']).to.equal(undefined);
    expect(JSON.stringify(simulator.control.triggers())).to.not.include(hmac('det:22'));
  });

  it('is sent for a survey with the literal survey user', async () => {
    await simulator.control.saveForm(LONGITUDINAL, {
      record: '1001',
      instrument: 'wellbeing_survey',
      event: 'month_3_arm_1',
      survey: true,
      complete: '0',
      values: { sleep_hours: '6' },
    });
    expect(new URLSearchParams(receiver.received[0]?.body).get('username')).to.equal('[survey respondent]');
  });

  it('is not sent for an API import, and only once when it is refused', async () => {
    const answer = await callApi(
      simulator,
      TOKENS.longitudinal,
      importRow({ record_id: '1001', redcap_event_name: 'baseline_arm_1', language: 'de' }),
    );
    expect(answer.text).to.equal('{"count":1}');
    expect(receiver.received).to.have.length(0);
    receiver.status = 503;
    const saved = await simulator.control.saveForm(LONGITUDINAL, {
      record: '1001',
      instrument: 'enrollment',
      values: { language: 'en' },
    });
    expect(saved.trigger?.status).to.equal(503);
    expect(receiver.received).to.have.length(1);
  });

  it('can be sent twenty times at once, and not at all', async () => {
    await simulator.control.sendTriggers(LONGITUDINAL, { record: '1001', instrument: 'enrollment', times: 20 });
    expect(receiver.received).to.have.length(20);
    expect(new Set(receiver.received.map(({ body }) => body)).size).to.equal(1);
    await simulator.control.saveForm(LONGITUDINAL, {
      record: '1001',
      instrument: 'enrollment',
      values: { language: 'es' },
      trigger: false,
    });
    expect(receiver.received).to.have.length(20);
  });

  it('is sent by a save on the web page, which shows what came of it', async () => {
    const place = `${simulator.url}/projects/21/form?${new URLSearchParams({ record: 'A-01/β', event: 'baseline_arm_1', instrument: 'enrollment' }).toString()}`;
    const form = await (await fetch(place)).text();
    expect(form).to.include('name="enrollment_date" value="2025-02-10"');
    const saved = await fetch(place, {
      method: 'POST',
      body: new URLSearchParams({ enrollment_date: '2025-02-11', enrollment_complete: '2' }),
    });
    expect(await saved.text()).to.include('The trigger was answered with 200.');
    expect(new URLSearchParams(receiver.received[0]?.body).get('record')).to.equal('A-01/β');
    expect(simulator.control.record(LONGITUDINAL, 'A-01/β')?.rows[0]?.values['enrollment_date']).to.equal('2025-02-11');
    expect(await (await fetch(`${simulator.url}/triggers`)).text()).to.include('instrument=enrollment');
  });
});
