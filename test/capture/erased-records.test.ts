import { expect } from 'chai';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

/** An erased participant keeps its record id: what the capture system still sends of it is not kept. */
describe('the record of a participant whose identity was erased', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const changes = async (study: CaptureStudy): Promise<unknown> => {
    const { body } = await stage.call<{ items: { action: string; resource_type: string }[] }>(
      'GET',
      `/api/audit?study_id=${study.id}&limit=500`,
    );
    return body.items.map(({ action }) => action).filter((action) => /^(participant|form)_updated$/.test(action));
  };

  it('changes nothing, by trigger and by sync; nor does the audit log say that it did', async () => {
    const study = await stage.study();
    await study.enroll('e', { enrolled: '2026-01-15', mail: 'a@example.org', dob: '1960-01-02' });
    await study.settled(1);
    const { id, participant_code } = (await study.participants())[0]!;
    const erased = await stage.call('POST', `/api/participants/${id}/erase`, {
      reason: 'asked for it',
      replace_code: true,
    });
    expect(erased.status).to.equal(200);
    await study.enroll('e', { enrolled: '2026-01-20', mail: 'b@example.org' });
    expect((await study.settled(2))[1]).to.include({ status: 'processed', outcome: 'unchanged', participant_id: id });
    await study.enroll('e', { mail: 'c@example.org' }, { trigger: false });
    expect((await synced(study)).progress).to.include({ created: 0, updated: 0, unchanged: 1, failed: 0 });
    expect(await changes(study)).to.deep.equal([]);
    const [participant, ...others] = await study.participants();
    expect(others).to.deep.equal([]);
    expect(participant).to.include({ external_id: 'e', email: null, date_of_birth: null });
    expect(participant!.participant_code).not.to.equal(participant_code);
    // Other facts are still taken.
    await study.enroll('e', { lang: 'fr' });
    expect((await study.settled(3))[2]).to.include({ status: 'processed', outcome: 'updated' });
    expect((await study.participants())[0]).to.include({ preferred_language: 'fr', email: null });
  });
});
