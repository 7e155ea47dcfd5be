import { expect } from 'chai';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { until } from '../support/until.js';
import { polled } from './polling.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const ROW = {
  subject_id: 'a',
  redcap_event_name: 'baseline_arm_1',
  enrolled: '2026-01-15',
  lang: 'de',
  enroll_complete: '2',
};

describe('what a reading could not take of a record that does not change any more', function () {
  let stage: Stage;
  let temporal: TemporalAccess;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set();
    temporal = await temporalOf(stage.run);
  });
  after(async () => {
    await temporal?.close();
    await stage?.clear();
  });

  const site = async (study: CaptureStudy) =>
    (await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/sites`, { site_code: 'site_north' })).body.id;
  const siteOf = async (study: CaptureStudy, record: string) =>
    (await study.participants()).find(({ external_id }) => external_id === record)!.site_id;
  const load = (study: CaptureStudy, ...rows: Record<string, string>[]) =>
    stage.simulator.control.load(Number(study.projectId), rows);
  /** It has not changed for longer than polls look back. */
  const aged = (study: CaptureStudy, record: string) => {
    stage.simulator.control.project(Number(study.projectId)).store.get(record)!.modifiedAt = '2026-01-01 12:00:00';
  };

  for (const [how, again] of [
    ['poll', (study: CaptureStudy) => polled(temporal, study, 1)],
    ['sync', synced],
  ] as const)
    it(`the site of a group that is made later is the participant’s after the next ${how}`, async () => {
      const study = await stage.study();
      await study.enroll('g', { enrolled: '2026-01-15' }, { data_access_group: 'site_north' });
      await study.settled(1);
      await polled(temporal, study, 0);
      expect(await siteOf(study, 'g')).to.equal(null);
      const id = await site(study);
      await again(study);
      expect(await siteOf(study, 'g')).to.equal(id);
    });

  it('and after the next trigger, though that has the same bytes', async () => {
    const study = await stage.study();
    await study.enroll('g', { enrolled: '2026-01-15' }, { data_access_group: 'site_north' });
    await study.settled(1);
    const id = await site(study);
    await study.enroll('g', {});
    expect((await study.settled(2))[1]).to.include({ status: 'processed', outcome: 'updated' });
    expect(await siteOf(study, 'g')).to.equal(id);
  });

  it('a record whose code another participant has is enrolled by the next poll once the code is free', async () => {
    const study = await stage.study({ config: { participant_field_mapping: { participant_code: 'code' } } });
    const holder = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/participants`, {
      participant_code: 'P-1',
    });
    load(study, { ...ROW, code: 'P-1' });
    const refused = await polled(temporal, study, 0);
    expect(refused.issues.items.map(({ issues }) => issues[0]!.code)).to.deep.equal(['PARTICIPANT_CODE_TAKEN']);
    const { status } = await stage.call('PATCH', `/api/participants/${holder.body.id}`, { participant_code: 'P-2' });
    expect(status).to.equal(200);
    expect((await polled(temporal, study, 1)).progress).to.include({ created: 1, failed: 0 });
    expect((await study.participants()).map((p) => [p.participant_code, p.external_id])).to.deep.equal([
      ['P-2', null],
      ['P-1', 'a'],
    ]);
  });

  it('a record that a person gives to the holder of its code is read by the next poll', async () => {
    const study = await stage.study({
      config: { participant_field_mapping: { participant_code: 'code', preferred_language: 'lang' } },
    });
    const holder = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/participants`, {
      participant_code: 'P-1',
    });
    load(study, { ...ROW, code: 'P-1' });
    expect((await polled(temporal, study, 0)).progress).to.include({ failed: 1 });
    aged(study, 'a');
    const { status } = await stage.call('PATCH', `/api/participants/${holder.body.id}`, { external_id: 'a' });
    expect(status).to.equal(200);
    expect((await polled(temporal, study, 1)).progress).to.include({ updated: 1, failed: 0 });
    expect(await study.participants()).to.have.length(1);
    expect((await study.participants())[0]).to.include({ external_id: 'a', preferred_language: 'de' });
  });

  it('the site of a group is made by the next poll once missing sites are to be made', async () => {
    const study = await stage.study();
    await study.enroll('g', { enrolled: '2026-01-15' }, { data_access_group: 'site_north' });
    await study.settled(1);
    for (const known of [0, 1]) await polled(temporal, study, known);
    aged(study, 'g');
    expect((await study.configure({ create_missing_sites: true })).status).to.equal(200);
    await polled(temporal, study, 2);
    expect(await siteOf(study, 'g')).to.be.a('string');
  });

  it('an item that the policy names from now on is read by the next trigger and by the next poll', async () => {
    const study = await stage.study();
    await study.enroll('p', { enrolled: '2026-01-15', code: '2026-02-20' });
    await study.settled(1);
    load(study, { ...ROW, code: '2026-02-21' });
    await polled(temporal, study, 0);
    const { status } = await stage.call('POST', `/api/studies/${study.id}/config/enrollment-policy`, {
      sources: [{ type: 'form_item', form_mapping: { form_oid: 'enroll', item_oid: 'code' } }],
      prerequisites: { require_consent_signed: false },
    });
    expect(status).to.equal(200);
    await study.enroll('p', {});
    expect((await study.settled(2))[1]!.status, 'no duplicate').to.equal('processed');
    await polled(temporal, study, 1);
    const items = await stage.sql<{ external_id: string; items: Record<string, string> }>(
      `select p.external_id, f.items from form_instances f join participants p on p.id = f.participant_id
        where p.study_id = ? order by 1`,
      [study.id],
    );
    expect(items.map((row) => [row.external_id, row.items['code']])).to.deep.equal([
      ['a', '2026-02-21'],
      ['p', '2026-02-20'],
    ]);
  });

  it('with another token, which may see other records, the next poll reads everything', async () => {
    const study = await stage.study();
    load(study, ROW);
    await polled(temporal, study, 0);
    expect((await study.configure({ api_token: study.token })).status).to.equal(200);
    expect((await polled(temporal, study, 1)).changed_since).to.equal(null);
    expect((await polled(temporal, study, 2)).changed_since).to.be.a('string');
  });

  it('what was refused for want of permission is read once a trigger shows that the new token works', async () => {
    const study = await stage.study({ config: { poll_interval_minutes: 0 } });
    await study.configure({ api_token: 'F'.repeat(32) });
    await study.enroll('refused', { enrolled: '2026-01-15' });
    expect((await study.settled(1))[0]!.error).to.match(/^rejected: .*403/);
    await study.configure({ api_token: study.token });
    await study.enroll('next', { enrolled: '2026-01-15' });
    await until(async () => (await study.events()).every(({ status }) => status === 'processed'), {
      what: 'both to be read',
    });
    expect((await study.participants()).map((p) => p.external_id).sort()).to.deep.equal(['next', 'refused']);
  });
});
