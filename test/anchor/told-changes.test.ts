import { expect } from 'chai';
import { anchorState } from '../../workflows/contract.js';
import { until } from '../support/until.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const policy = { sources: [{ type: 'manual_entry' }], prerequisites: { require_eligibility_confirmed: true } };

describe('A change of a study after which its participants wait for something else', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const waitsFor = (person: Person, what: string[]) =>
    until(
      async () => {
        const state = await stage.handle(person.id).query(anchorState);
        expect(state?.waiting_for).to.deep.equal(what);
        return state!;
      },
      { what: `the workflow to wait for ${what.join(', ')}` },
    );
  const proposed = async (study: AnchorStudy): Promise<Person> => {
    const person = await study.person();
    expect((await person.set(DAY)).body).to.include({ status: 'provisional' });
    return person;
  };

  it('another consent mode: each workflow says what is still missing', async () => {
    const study = await stage.study(policy);
    const person = await proposed(study);
    await waitsFor(person, ['consent', 'eligibility']);
    await study.settled();
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { consent_mode: 'external' });
    await waitsFor(person, ['eligibility']);
    await study.settled();
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { consent_mode: 'econsent' });
    await waitsFor(person, ['consent', 'eligibility']);
    expect(await person.anchor()).to.include({ status: 'provisional', version: 2 });
  });

  it('a later first day, before which a proposal lies: it is waited for a date; an earlier one again, and it counts', async () => {
    const study = await stage.study({ ...policy, prerequisites: { require_consent_signed: true } });
    const person = await proposed(study);
    await waitsFor(person, ['consent']);
    await study.settled();
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { start_date: '2024-04-01' });
    await waitsFor(person, ['date', 'consent']);
    await study.settled();
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { start_date: '2024-01-01' });
    await waitsFor(person, ['consent']);
  });

  it('two policies in quick succession: the first counts as well, although only the second is there when it is worked through', async () => {
    const study = await stage.study(policy);
    const person = await proposed(study);
    await waitsFor(person, ['consent', 'eligibility']);
    await study.settled();
    const prerequisites = { ...policy.prerequisites, require_randomization: true };
    await stage.holding('select 1 from anchor_dates where participant_id = ? for update', [person.id], async () => {
      await study.policy({ ...policy, prerequisites });
      const waits = `select 1 from pg_stat_activity where pg_blocking_pids(pid) <> '{}' and query like '%anchor_dates%'`;
      await until(async () => (await stage.sql(waits)).length > 0, { what: 'the first walk to wait' });
      await study.policy({ ...policy, prerequisites, re_anchoring: { max_shift_days: 5 } });
    });
    await waitsFor(person, ['consent', 'eligibility', 'randomization']);
  });

  it('what leaves that as it is tells nobody', async () => {
    const study = await stage.study(policy);
    const person = await proposed(study);
    await waitsFor(person, ['consent', 'eligibility']);
    await study.settled();
    await person.settled();
    const told = () =>
      stage.sql(`select id from anchor_commands where participant_id = ? and kind = 'sources_changed'`, [person.id]);
    const before = (await told()).length;
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { start_date: '2024-01-01' });
    await study.policy({ ...policy, re_anchoring: { max_shift_days: 5 } });
    await study.settled();
    await person.settled();
    expect((await told()).length).to.equal(before);
  });
});
