import { expect } from 'chai';
import { newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';

describe('Lists of visits', () => {
  let stage: Stage;
  let study: AnchorStudy;
  let codes: string[];
  before(async () => {
    stage = await Stage.open();
    study = await stage.study({ sources: [{ type: 'manual_entry' }] }, { days: [] });
    await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'NORTH', name: 'North' });
    codes = [unique('B'), unique('A')];
    for (const [i, participant_code] of codes.entries()) {
      const { id } = await newParticipant(stage.admin, study.id, {
        participant_code,
        ...(i === 0 && { site_code: 'NORTH' }),
      });
      for (const month of ['01', '02'])
        await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
          participant_id: id,
          name: `Visit ${month}`,
          target_date: `2999-${month}-10`,
          window_open: `2999-${month}-0${i + 1}`,
          window_close: `2999-${month}-2${i}`,
        });
    }
  });
  after(() => stage.close());
  const list = async (query: string, status = 200) =>
    stage.admin.expect<{ items: Loose[]; total: number }>(
      status,
      'GET',
      `/api/schedules/visits?study_id=${study.id}&${query}`,
    );
  const opens = async (query: string) => (await list(query)).items.map(({ window_open }) => window_open);

  it('name the participant and the site by their codes, the single visit too', async () => {
    const { items } = await list('sort=window_open');
    expect(items.map(({ participant_code, site_code }) => [participant_code, site_code])).to.deep.equal([
      [codes[0], 'NORTH'],
      [codes[1], null],
      [codes[0], 'NORTH'],
      [codes[1], null],
    ]);
    expect(await stage.admin.expect(200, 'GET', `/api/visits/${items[0]!.id as string}`)).to.deep.equal(items[0]);
  });

  it('are narrowed by the days of the window, both inclusive, by codes and by what needs a review', async () => {
    expect(await opens('window_open_from=2999-01-02&window_open_to=2999-02-01&sort=window_open')).to.deep.equal([
      '2999-01-02',
      '2999-02-01',
    ]);
    expect(await opens('window_close_from=2999-01-21&window_close_to=2999-02-20&sort=window_close')).to.deep.equal([
      '2999-01-02',
      '2999-02-01',
    ]);
    expect(await opens(`participant_code=${codes[1]}&sort=-window_open`)).to.deep.equal(['2999-02-02', '2999-01-02']);
    expect((await list('site_code=NORTH')).total).to.equal(2);
    expect((await list('needs_review=true')).total).to.equal(0);
    expect((await list('needs_review=false')).total).to.equal(4);
  });

  it('are sorted by each word that is offered, and by no other', async () => {
    for (const word of [
      'target_date',
      'window_open',
      'window_close',
      'status',
      'participant_code',
      'site_code',
      'name',
    ])
      for (const sign of ['', '-']) expect((await list(`sort=${sign}${word}`)).total, word).to.equal(4);
    expect((await list('sort=participant_code')).items.map((v) => v.participant_code)).to.deep.equal(
      [...codes, ...codes].sort(),
    );
    await list('sort=battery_id', 422);
  });
});

describe('The approvals of all studies', () => {
  it('stand in one list for anyone who may see the studies, narrowed by a study context', async () => {
    const stage = await Stage.open();
    try {
      const asked: string[] = [];
      const studies: string[] = [];
      const policy = {
        sources: [{ type: 'manual_entry' }],
        prerequisites: { require_consent_signed: false },
        permissions: { override_requires_approval: true },
      };
      for (let i = 0; i < 2; i++) {
        const study = await stage.study(policy);
        const person = await study.person();
        await person.set('2024-03-10');
        asked.push((await person.override('2024-03-17')).body.override_request_id);
        studies.push(study.id);
      }
      const both = await user(stage.admin, 'coordinator', { study_ids: studies });
      const one = await user(stage.admin, 'coordinator', { study_ids: [studies[0]!] });
      const none = await user(stage.admin, 'coordinator', { study_ids: [(await newStudy(stage.admin)).id] });
      const ids = async (http: typeof both, more = '') =>
        (
          await http.expect<{ items: { override_request_id: string }[] }>(
            200,
            'GET',
            `/api/approvals?status=pending${more}`,
          )
        ).items.map(({ override_request_id }) => override_request_id);
      expect(await ids(both)).to.have.members(asked);
      expect(await ids(both, `&study_id=${studies[1]}`)).to.deep.equal([asked[1]]);
      expect(await ids(one)).to.deep.equal([asked[0]]);
      expect(await ids(none)).to.deep.equal([]);
    } finally {
      await stage.close();
    }
  });
});
