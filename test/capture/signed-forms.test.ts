import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import { until } from '../support/service.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

/** The facts of a record are a form here, which an investigator may sign: it stays as it was signed. */
describe('another date in the capture system, of a form that is signed here', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  /** A study with a participant of the record `s`, and the path of its form. */
  const enrolled = async (options: Parameters<Stage['study']>[0], final: boolean) => {
    const study = await stage.study(options);
    await study.enroll('s', { enrolled: '2026-01-15' });
    await study.settled(1);
    const path = await study.anchorPath();
    await until(
      async () => (await stage.call('GET', path)).body['status'] === (final ? 'finalized' : 'provisional') || undefined,
      { what: 'the anchor to be decided' },
    );
    const forms = await stage.call<{ items: { id: string }[] }>('GET', path.replace('/anchor-date', '/forms'));
    return { study, form: `${path.replace('/anchor-date', '/forms')}/${forms.body.items[0]!.id}` };
  };
  const sign = async (form: string) =>
    expect((await stage.call('PATCH', form, { status: 'signed' })).status).to.equal(200);
  const signed = async (...how: Parameters<typeof enrolled>): Promise<CaptureStudy> => {
    const { study, form } = await enrolled(...how);
    await sign(form);
    return study;
  };
  const itemOf = async (study: CaptureStudy) =>
    (
      await stage.sql<{ date: string }>(
        `select f.items->>'enrolled' as date from form_instances f where f.study_id = ?`,
        [study.id],
      )
    ).map(({ date }) => date);

  it('than that of a finalized anchor is override_required, by trigger and by sync', async () => {
    const study = await signed({}, true);
    await study.enroll('s', { enrolled: '2026-01-20' });
    expect((await study.settled(2))[1]).to.include({ status: 'processed', outcome: 'override_required' });
    await study.enroll('s', { enrolled: '2026-01-21' }, { trigger: false });
    const { progress, issues } = await synced(study);
    expect(progress).to.include({ override_required: 1 });
    expect(issues.items[0]!.issues.map(({ code }) => code)).to.include('OVERRIDE_REQUIRED');
    expect(await itemOf(study)).to.deep.equal(['2026-01-15']);
    expect((await study.participants())[0]!.enrollment_date).to.equal('2026-01-15');
  });

  it('is named where the anchor is not final yet, and nothing moves', async () => {
    const study = await signed({ study: { consent_mode: 'econsent' } }, false);
    const codes = async (events: number) => (await study.settled(events))[events - 1]!.warnings.map(({ code }) => code);
    await study.enroll('s', { enrolled: '2026-01-20' });
    expect(await codes(2)).to.deep.equal(['FORM_FROZEN']);
    expect((await study.participants())[0]!.enrollment_date).to.equal('2026-01-15');
    expect(await study.versions((await study.participants())[0]!.id)).to.have.length(1);
    // A value that is as it was signed is no news.
    await study.enroll('s', { enrolled: '2026-01-15', lang: 'fr' });
    expect(await codes(3)).to.deep.equal([]);
    await study.enroll('s', { enrolled: '2026-01-22' }, { trigger: false });
    expect((await synced(study)).issues.items[0]!.issues.map(({ code }) => code)).to.deep.equal(['FORM_FROZEN']);
    await until(async () => (await itemOf(study))[0] === '2026-01-15', { what: 'the form to stay' });
  });

  it('changes nothing of it either where it was read while the form was being signed', async () => {
    const { study, form } = await enrolled({ study: { consent_mode: 'econsent' } }, false);
    const owner = openDatabase({ url: stage.run.database_url, poolMax: 2, name: 'signed-forms', asOwner: true });
    try {
      await whileHeld<unknown>(
        owner,
        atItsCommit(study.id),
        () => sign(form),
        () => study.enroll('s', { enrolled: '2026-01-20' }),
      );
    } finally {
      await owner.destroy();
    }
    const [, read] = await study.settled(2);
    expect(read!.warnings.map(({ code }) => code)).to.deep.equal(['FORM_FROZEN']);
    const rows = await stage.sql('select status, items from form_instances where study_id = ?', [study.id]);
    expect(rows).to.deep.equal([{ status: 'signed', items: { enrolled: '2026-01-15' } }]);
  });
});
