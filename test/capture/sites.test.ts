import { expect } from 'chai';
import { admin } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { participantAnchorId } from '../../workflows/contract.js';
import { temporalOf } from '../support/temporal.js';
import { until } from '../support/until.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

describe('data access group and site', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const sites = async (study: CaptureStudy) =>
    (await stage.call<{ items: { id: string; site_code: string }[] }>('GET', `/api/studies/${study.id}/sites`)).body
      .items;

  it('a group that the study does not have: enrolled without a site, and the event says so', async () => {
    const study = await stage.study();
    await study.enroll('g', { enrolled: '2026-01-15' }, { data_access_group: 'site_north' });
    const [event] = await study.settled(1);
    expect(event).to.include({ status: 'processed', outcome: 'created', error: null });
    expect(event!.warnings.map(({ code }) => code)).to.deep.equal(['UNKNOWN_SITE']);
    expect(event!.warnings[0]!.message).to.contain('site_north');
    expect((await study.participants())[0]!.site_id).to.equal(null);
    expect(await sites(study)).to.deep.equal([]);
  });

  it('the same trigger while its group is no site is a duplicate, and updates once it is one', async () => {
    const study = await stage.study();
    const repeat = () =>
      stage.simulator.control.sendTriggers(Number(study.projectId), {
        record: 'r',
        instrument: 'enroll',
        event: 'baseline_arm_1',
      });
    await study.enroll('r', { enrolled: '2026-01-15' }, { data_access_group: 'site_north' });
    const [first] = await study.settled(1);
    await repeat();
    const [, second] = await study.settled(2);
    expect(second).to.include({ status: 'duplicate', duplicate_of_id: first!.id, outcome: null, error: null });
    expect(second!.warnings.map(({ code }) => code)).to.deep.equal(['UNKNOWN_SITE']);
    const made = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/sites`, {
      site_code: 'site_north',
    });
    await repeat();
    const [, , third] = await study.settled(3);
    expect(third).to.include({ status: 'processed', outcome: 'updated', duplicate_of_id: null });
    expect((await study.participants()).map((p) => p.site_id)).to.deep.equal([made.body.id]);
    await repeat();
    const [, , , fourth] = await study.settled(4);
    expect(fourth).to.include({ status: 'duplicate', duplicate_of_id: third!.id });
    expect(fourth!.warnings).to.deep.equal([]);
  });

  it('a group that several sites may be: no site, and the event says so; one that is a site’s code is that site', async () => {
    const groups = ['university_hospita', 'ward_1'].map((name) => ({
      unique_group_name: name,
      data_access_group_name: name,
    }));
    const study = await stage.study({ project: { data_access_groups: groups } });
    const made = new Map<string, string>();
    for (const site_code of ['University Hospital North', 'University Hospital South', 'WARD-1', 'ward_1']) {
      const { body } = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/sites`, { site_code });
      made.set(site_code, body.id);
    }
    await study.enroll('several', { enrolled: '2026-01-15' }, { data_access_group: 'university_hospita' });
    const [event] = await study.settled(1);
    expect(event).to.include({ status: 'processed', outcome: 'created' });
    expect(event!.warnings.map(({ code }) => code)).to.deep.equal(['AMBIGUOUS_SITE']);
    expect(event!.warnings[0]!.message).to.contain('North').and.contain('South').and.contain('university_hospita');
    await study.enroll('one', { enrolled: '2026-01-15' }, { data_access_group: 'ward_1' });
    expect((await study.settled(2))[1]!.warnings).to.deep.equal([]);
    expect((await study.participants()).map((p) => [p.external_id, p.site_id])).to.deep.equal([
      ['several', null],
      ['one', made.get('ward_1')],
    ]);
  });

  it('a record that goes to another group is found in Temporal by its new site', async () => {
    const groups = ['site_north', 'site_south'].map((name) => ({
      unique_group_name: name,
      data_access_group_name: name,
    }));
    const study = await stage.study({ project: { data_access_groups: groups } });
    const [, south] = await Promise.all(
      ['site_north', 'site_south'].map((site_code) =>
        stage.call<{ id: string }>('POST', `/api/studies/${study.id}/sites`, { site_code }),
      ),
    );
    for (const [index, data_access_group] of ['site_north', 'site_south'].entries()) {
      await study.enroll('m', { enrolled: '2026-01-15' }, { data_access_group });
      await study.settled(index + 1);
    }
    const [participant] = await study.participants();
    expect(participant!.site_id).to.equal(south!.body.id);
    const temporal = await temporalOf(stage.run);
    try {
      await until(async () => {
        const { searchAttributes } = await temporal.client.workflow
          .getHandle(participantAnchorId(participant!.id))
          .describe();
        return expect(searchAttributes.SiteId).to.deep.equal([south!.body.id]);
      });
    } finally {
      await temporal.close();
    }
  });

  it('create_missing_sites: the group becomes a site, once, on record in the audit log', async () => {
    const study = await stage.study({ config: { create_missing_sites: true } });
    await Promise.all(
      ['a', 'b', 'c'].map((record) =>
        study.enroll(record, { enrolled: '2026-01-15' }, { data_access_group: 'site_north' }),
      ),
    );
    const events = await study.settled(3);
    expect(events.map((event) => [event.outcome, event.warnings])).to.deep.equal([
      ['created', []],
      ['created', []],
      ['created', []],
    ]);
    const [site, ...others] = await sites(study);
    expect([site!.site_code, others]).to.deep.equal(['site_north', []]);
    expect(new Set((await study.participants()).map((p) => p.site_id))).to.deep.equal(new Set([site!.id]));
    const audit = await stage.sql<{ resource_id: string }>(
      `select resource_id from audit_log where study_id = ? and action = 'site_created'`,
      [study.id],
    );
    expect(audit.map((record) => record.resource_id)).to.deep.equal([site!.id]);
  });

  it('X-Site-ID narrows triggers, sites and the counts of pushes to a site', async () => {
    const study = await stage.study({ config: { create_missing_sites: true } });
    for (const [record, group] of [
      ['a', {}],
      ['b', { data_access_group: 'site_north' }],
      ['c', { data_access_group: 'site_north' }],
    ] as const)
      await study.enroll(record, { enrolled: '2026-01-15' }, group);
    await study.trigger({ record: 'd', instrument: 'cognition' });
    await study.settled(4);
    const people = await study.participants();
    for (const { id } of people) {
      await stage.sql(
        `insert into scheduled_visits (id, visit_key, study_id, participant_id, name, target_date, window_open, window_close, status, data_sync_status)
        values (gen_random_uuid(), gen_random_uuid(), ?, ?, 'V', '2026-01-15', '2026-01-15', '2026-01-15', 'scheduled', 'synced')`,
        [study.id, id],
      );
    }
    const other = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/sites`, {
      site_code: 'site_south',
      name: 'South',
    });
    const [north] = await sites(study);
    const http = await admin();
    const narrowed = async (path: string, site?: string) =>
      (await http.get<Loose & { pushes: { synced: number } }>(path, site ? { headers: { 'X-Site-ID': site } } : {}))
        .body;
    const seen = async (site?: string) => ({
      triggers: (await narrowed(`/api/studies/${study.id}/webhook-events`, site)).items
        .map(({ record }) => record)
        .sort(),
      sites: (await narrowed(`/api/studies/${study.id}/sites`, site)).items.map(({ site_code }) => site_code),
      synced: (await narrowed(`/api/datacapture/status/${study.id}`, site)).pushes.synced,
    });
    expect(await seen()).to.deep.equal({
      triggers: ['a', 'b', 'c', 'd'],
      sites: ['site_north', 'site_south'],
      synced: 3,
    });
    expect(await seen(north!.id)).to.deep.equal({ triggers: ['b', 'c'], sites: ['site_north'], synced: 2 });
    expect(await seen(other.body.id)).to.deep.equal({ triggers: [], sites: ['site_south'], synced: 0 });
  });

  it('a mapped site code that the study does not have is no reason to take the site of the group', async () => {
    const config = { participant_field_mapping: { enrollment_date: 'enrolled', site_code: 'code' } };
    const [without, made] = [
      await stage.study({ config }),
      await stage.study({ config: { ...config, create_missing_sites: true } }),
    ];
    for (const study of [without, made]) {
      await stage.call('POST', `/api/studies/${study.id}/sites`, { site_code: 'site_north' });
      await study.enroll('s', { enrolled: '2026-01-15', code: 'B-7' }, { data_access_group: 'site_north' });
      await study.enroll('t', { enrolled: '2026-01-15' }, { data_access_group: 'site_north' });
      await study.settled(2);
    }
    const ofRecord = (all: { record: string; warnings: { code: string }[] }[], record: string) =>
      all.find((event) => event.record === record)!.warnings.map(({ code }) => code);
    expect(ofRecord(await without.events(), 's')).to.deep.equal(['UNKNOWN_SITE']);
    expect(ofRecord(await without.events(), 't')).to.deep.equal([]);
    const placed = async (study: CaptureStudy) => {
      const codes = new Map((await sites(study)).map(({ id, site_code }) => [id, site_code]));
      const people = await study.participants();
      return Object.fromEntries(
        people.map(({ external_id, site_id }) => [external_id, codes.get(site_id ?? '') ?? null]),
      );
    };
    expect(await placed(without)).to.deep.equal({ s: null, t: 'site_north' });
    expect(await placed(made)).to.deep.equal({ s: 'B-7', t: 'site_north' });
  });

  it('a site that was renamed here is still that of its group, or of the mapped code', async () => {
    for (const [values, more, field_mapping] of [
      [{}, { data_access_group: 'site_north' }, {}],
      [{ code: 'site_north' }, {}, { site_code: 'code' }],
    ] as const) {
      const config = { participant_field_mapping: { enrollment_date: 'enrolled', ...field_mapping } };
      const study = await stage.study({ config: { ...config, create_missing_sites: true } });
      await study.enroll('s', { enrolled: '2026-01-15', ...values }, more);
      await study.settled(1);
      const [site] = await sites(study);
      expect((await stage.call('PATCH', `/api/sites/${site!.id}`, { site_code: 'Northern' })).status).to.equal(200);
      await study.enroll('s', { enrolled: '2026-01-16', ...values }, more);
      await study.enroll('t', { enrolled: '2026-01-15', ...values }, more);
      await study.settled(3);
      expect((await sites(study)).map(({ site_code }) => site_code)).to.deep.equal(['Northern']);
      expect(new Set((await study.participants()).map((p) => p.site_id))).to.deep.equal(new Set([site!.id]));
    }
  });

  it('a mapped site code that the study does not have is treated alike', async () => {
    const config = { participant_field_mapping: { enrollment_date: 'enrolled', site_code: 'code' } };
    const [without, made] = [
      await stage.study({ config }),
      await stage.study({ config: { ...config, create_missing_sites: true } }),
    ];
    for (const study of [without, made]) {
      await study.enroll('s', { enrolled: '2026-01-15', code: 'B-7' });
      await study.settled(1);
    }
    expect((await without.events())[0]!.warnings[0]!.message).to.contain('B-7');
    expect((await sites(made)).map((site) => site.site_code)).to.deep.equal(['B-7']);
  });
});
