import { expect } from 'chai';
import { CaptureStudy, Stage } from './support.js';

/** What no key opens. */
const UNREADABLE = 'v1:0123456789ab:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA:AAAA';

describe('trigger webhook: several studies of one project number', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  /** A study more for the project of another one: the same number, and the same secret unless it brings its own. */
  async function beside(first: CaptureStudy, secret = first.secret): Promise<CaptureStudy> {
    const { id, battery } = await stage.study({ connect: false });
    const study = new CaptureStudy(stage, id, first.projectId, first.token, battery);
    await study.connect({ project_id: first.projectId, webhook_secret: secret });
    stage.simulator.control.setTrigger(Number(first.projectId), { url: null });
    return study;
  }
  const breakSecret = (study: CaptureStudy) =>
    stage.sql('update datacapture_configs set webhook_secret_encrypted = ? where study_id = ?', [UNREADABLE, study.id]);
  const store = (study: CaptureStudy, record: string) =>
    study.enroll(record, { enrolled: '2026-01-15' }, { trigger: false });
  const counts = async (...studies: CaptureStudy[]) =>
    Promise.all(studies.map(async (study) => (await study.events()).length));

  it('a study that is connected later has its triggers from the first one on, and none after it is switched off', async () => {
    const first = await stage.study();
    await store(first, 'a');
    expect((await first.trigger({ record: 'a' })).status).to.equal(200);
    const second = await beside(first);
    for (const n of [1, 2]) {
      expect((await first.trigger({ record: 'a' })).status).to.equal(200);
      expect(await counts(first, second)).to.deep.equal([1 + n, n]);
    }
    await second.settled(2);
    expect((await second.participants()).map((p) => p.external_id)).to.deep.equal(['a']);

    await second.configure({ webhook_enabled: false });
    expect((await first.trigger({ record: 'a' })).status).to.equal(200);
    expect(await counts(first, second)).to.deep.equal([4, 2]);
    await second.configure({ webhook_enabled: true });
    expect((await first.trigger({ record: 'a' })).status).to.equal(200);
    expect(await counts(first, second)).to.deep.equal([5, 3]);
  });

  it('a trigger goes to those alone whose secret it is signed with', async () => {
    const first = await stage.study();
    const second = await beside(first, 'another secret');
    expect((await first.trigger({ record: 'a' })).status).to.equal(200);
    expect((await first.trigger({ record: 'a' }, { secret: 'another secret' })).status).to.equal(200);
    expect(await counts(first, second)).to.deep.equal([1, 1]);
    expect((await first.trigger({ record: 'a' }, { secret: 'neither' })).status).to.equal(401);
  });

  it('a secret that no longer decrypts stops its own study alone', async () => {
    const first = await stage.study();
    await breakSecret(first);
    const second = await beside(first, 'another secret');
    expect((await second.trigger({ record: 'a' }, { secret: 'another secret' })).status).to.equal(200);
    expect(await counts(first, second)).to.deep.equal([0, 1]);
    // It may be the unreadable one that this is signed with.
    expect((await first.trigger({ record: 'a' })).body).to.include({ code: 'SECRET_UNREADABLE' });
    expect((await stage.call('GET', `/api/datacapture/status/${first.id}`)).body['sync_error_message']).to.contain(
      'another key',
    );
  });

  it('a secret that is entered again after it could not be read is good at once', async () => {
    const study = await stage.study();
    await store(study, 'a');
    await breakSecret(study);
    expect((await study.trigger({ record: 'a' })).status).to.equal(503);
    expect((await study.configure({ webhook_secret: study.secret })).status).to.equal(200);
    expect((await study.trigger({ record: 'a' })).status).to.equal(200);
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
  });
});
