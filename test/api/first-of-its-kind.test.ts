import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import { admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Answer, Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';

/** Where there is no row yet that the second could wait for. In each test the first waits at its commit. */
describe('Of two who make the first of something at once', () => {
  let http: Http, owner: Database, study: string;
  before(async () => {
    http = await admin();
    owner = openDatabase({ url: (await service()).database_url, poolMax: 2, name: 'first-of-kind', asOwner: true });
  });
  after(() => owner.destroy());
  beforeEach(async () => {
    study = (await newStudy(http)).id;
  });
  const atOnce = (...begun: (() => Promise<Answer<Loose>>)[]) =>
    whileHeld<Answer<Loose>>(owner, atItsCommit(study), ...begun);

  describe('a calendar of holidays', () => {
    const add = (name: string) => () => http.post(`/api/studies/${study}/holiday-calendars`, { name, holidays: [] });
    const defaults = async () => {
      const { items } = await http.expect(200, 'GET', `/api/studies/${study}/holiday-calendars?sort=name`);
      return items.map(({ is_default }) => is_default);
    };

    it('the first one’s is the study’s default', async () => {
      const made = await atOnce(add('A'), add('B'));
      expect(made.map(({ status }) => status)).to.deep.equal([201, 201]);
      expect(await defaults()).to.deep.equal([true, false]);
    });

    it('or another default, the second one’s is it', async () => {
      const ids: string[] = [];
      for (const name of ['A', 'B', 'C']) ids.push((await add(name)()).body.id);
      const choose = (id: string) => () => http.patch(`/api/holiday-calendars/${id}`, { is_default: true });
      const chosen = await atOnce(choose(ids[1]!), choose(ids[2]!));
      expect(chosen.map(({ status }) => status)).to.deep.equal([200, 200]);
      expect(await defaults()).to.deep.equal([false, false, true]);
    });
  });

  it('configuration of the capture system, the second changes it', async () => {
    const save = (more: object) => () =>
      http.patch(`/api/datacapture/config/${study}`, {
        api_url: 'http://127.0.0.1:9/api/',
        api_token: '0123456789ABCDEF0123456789ABCDEF',
        ...more,
      });
    const saved = await atOnce(save({ poll_interval_minutes: 0 }), save({ webhook_enabled: true }));
    expect(saved.map(({ status }) => status)).to.deep.equal([201, 200]);
    expect(await http.expect(200, 'GET', `/api/datacapture/config/${study}`)).to.include({ webhook_enabled: true });
  });

  it('assessment of eligibility, the second sees the waiver that the first has written', async () => {
    const path = `/api/studies/${study}/participants/${(await newParticipant(http, study)).id}/eligibility`;
    const assessment = {
      status: 'pending',
      inclusion_criteria: { age: { met: false } },
      has_waiver: true,
      waiver_criteria_ids: ['age'],
      waiver_reason: 'agreed with the sponsor',
    };
    const other = await user(http, 'investigator', { study_ids: [study] });
    const [first, second] = await atOnce(
      () => http.put(path, assessment),
      () => other.put(path, assessment),
    );
    expect([first!.status, second!.status]).to.deep.equal([200, 200]);
    expect(second!.body.waiver_requested_by_id).to.equal(first!.body.waiver_requested_by_id);
  });

  it('second factor of one user, as by a double click, the second replaces it', async () => {
    const who = await user(http, 'coordinator');
    const setUp = () => who.post<Loose>('/api/auth/mfa/setup');
    const made = await whileHeld<Answer<Loose>>(
      owner,
      ['select 1 from users where id = ? for update', who.userId!],
      setUp,
      setUp,
    );
    expect(made.map(({ status }) => status)).to.deep.equal([200, 200]);
  });
});
