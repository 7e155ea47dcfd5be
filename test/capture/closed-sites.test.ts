import { expect } from 'chai';
import { imported } from '../data/stage.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import { Stage, synced } from './support.js';

describe('a site that is closed', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('takes no new participants by hand or by a file; those who are there stay', async () => {
    const http = await admin();
    const study = await newStudy(http);
    const sites = `/api/studies/${study.id}/sites`;
    const [open, closed] = [
      await http.expect(201, 'POST', sites, { site_code: 'OPEN' }),
      await http.expect(201, 'POST', sites, { site_code: 'SHUT' }),
    ];
    const [there, other] = [
      await newParticipant(http, study.id, { site_id: closed.id }),
      await newParticipant(http, study.id, { site_id: open.id }),
    ];
    await http.expect(200, 'PATCH', `/api/sites/${closed.id}`, { status: 'inactive' });
    const people = `/api/studies/${study.id}/participants`;
    for (const site of [{ site_id: closed.id }, { site_code: 'SHUT' }]) {
      const refused = [
        await http.post(people, { participant_code: unique('P'), ...site }),
        await http.patch(`/api/participants/${other.id}`, site),
      ];
      expect(refused.map(({ status, body }) => [status, body.code])).to.deep.equal([
        [409, 'SITE_CLOSED'],
        [409, 'SITE_CLOSED'],
      ]);
      expect((await http.patch(`/api/participants/${there.id}`, { arm: 'B', ...site })).status).to.equal(200);
    }
    const row = (code: unknown, arm: string) => `${String(code)},SHUT,${arm}\n`;
    const file = `participant_code,site_code,arm\n${row('NEW', 'A')}${row(other.participant_code, 'A')}${row(there.participant_code, 'C')}`;
    const result = await imported(http, study.id, file, '?mode=upsert');
    expect(result.errors.map((fault) => [fault.row, fault.field, fault.code])).to.deep.equal([
      [2, 'site_code', 'SITE_CLOSED'],
      [3, 'site_code', 'SITE_CLOSED'],
    ]);
    expect(result).to.include({ imported_count: 0, updated_count: 1 });
    await http.expect(200, 'PATCH', `/api/sites/${closed.id}`, { status: 'active' });
    await http.expect(201, 'POST', people, { participant_code: unique('P'), site_id: closed.id });
  });

  it('takes no new participants from the capture system, which names the site, until it is active again', async () => {
    const study = await stage.study({
      project: { data_access_groups: ['open', 'shut'].map(group) },
    });
    const sites = `/api/studies/${study.id}/sites`;
    const [, closed] = [
      await stage.call('POST', sites, { site_code: 'open' }),
      await stage.call<{ id: string }>('POST', sites, { site_code: 'shut' }),
    ];
    await study.enroll('there', { enrolled: '2026-01-15' }, { data_access_group: 'shut' });
    await study.enroll('other', { enrolled: '2026-01-15' }, { data_access_group: 'open' });
    await study.settled(2);
    const become = (status: string) => stage.call('PATCH', `/api/sites/${closed.body.id}`, { status });
    expect((await become('inactive')).status).to.equal(200);
    await study.enroll('new', { enrolled: '2026-01-16' }, { data_access_group: 'shut' });
    await study.enroll('other', { lang: 'de' }, { data_access_group: 'shut' });
    await study.enroll('there', { lang: 'fr' });
    const [, , newcomer, moved, stays] = await study.settled(5);
    expect(newcomer).to.include({ status: 'processed', outcome: 'ignored', participant_id: null });
    expect(moved).to.include({ status: 'processed', outcome: 'updated' });
    expect(stays).to.include({ status: 'processed', outcome: 'updated' });
    expect([newcomer!, moved!, stays!].map(({ warnings }) => warnings.map(({ code }) => code))).to.deep.equal([
      ['SITE_CLOSED'],
      ['SITE_CLOSED'],
      [],
    ]);
    expect((await synced(study)).progress).to.include({ created: 0, skipped: 1, failed: 0 });
    const at = async () =>
      Object.fromEntries((await study.participants()).map((one) => [one.external_id, one.site_id === closed.body.id]));
    expect(await at()).to.deep.equal({ there: true, other: false });
    await become('active');
    expect((await synced(study)).progress).to.include({ created: 1, failed: 0 });
    expect(await at()).to.deep.equal({ there: true, other: true, new: true });
  });
});

const group = (name: string) => ({ data_access_group_name: name, unique_group_name: name });
