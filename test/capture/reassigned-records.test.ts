import { expect } from 'chai';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { polled } from './polling.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

/** A mistyped record id is corrected: the record was enrolled meanwhile, and is then given to the right participant. */
describe('a record that was read for one participant and given to another', function () {
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

  const participant = async (study: CaptureStudy, fields: Record<string, unknown>) => {
    const made = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/participants`, fields);
    expect(made.status).to.equal(201);
    return made.body.id;
  };
  const patch = async (id: string, change: Record<string, unknown>) =>
    expect((await stage.call('PATCH', `/api/participants/${id}`, change)).status).to.equal(200);
  /** The record is read, enrolls somebody, and is taken away from that participant. */
  const enrolledByMistake = async (read: (study: CaptureStudy) => Promise<unknown> = () => Promise.resolve()) => {
    const study = await stage.study();
    await study.enroll('y', { enrolled: '2026-01-15', lang: 'de' });
    await study.settled(1);
    await read(study);
    await patch((await study.participants())[0]!.id, { external_id: null });
    stage.simulator.control.project(Number(study.projectId)).store.get('y')!.modifiedAt = '2026-01-01 12:00:00';
    return study;
  };
  const byHand = async (study: CaptureStudy) => {
    const id = await participant(study, { participant_code: 'P-1', external_id: 'x' });
    await patch(id, { external_id: 'y' });
  };
  const anew = async (study: CaptureStudy) => {
    await participant(study, { participant_code: 'P-1', external_id: 'y' });
  };
  const byFile = (rows: readonly string[]) => async (study: CaptureStudy) => {
    for (const row of rows) {
      const form = new FormData();
      form.set('file', new Blob([`participant_code,external_id\n${row}\n`]), 'people.csv');
      const response = await fetch(`${stage.run.api}/api/studies/${study.id}/participants/import/csv?mode=upsert`, {
        method: 'POST',
        headers: { authorization: `Bearer ${stage.token}` },
        body: form,
      });
      expect(await response.json()).to.include({ error_count: 0 });
    }
  };
  const given = async (study: CaptureStudy) => {
    const one = (await study.participants()).find(({ participant_code }) => participant_code === 'P-1')!;
    return [one.external_id, one.enrollment_date, one.preferred_language];
  };
  const ALL = ['y', '2026-01-15', 'de'];

  it('its date and language are this one’s after a sync, though the record is as it was', async () => {
    const study = await enrolledByMistake();
    await byHand(study);
    expect((await synced(study)).progress).to.include({ updated: 1, unchanged: 0 });
    expect(await given(study)).to.deep.equal(ALL);
  });

  it('after the next trigger, though that has the same bytes', async () => {
    const study = await enrolledByMistake();
    await byHand(study);
    await study.enroll('y', {});
    expect((await study.settled(2))[1]).to.include({ status: 'processed', outcome: 'updated' });
    expect(await given(study)).to.deep.equal(ALL);
  });

  for (const [how, gives] of [
    ['by hand', byHand],
    ['with a new participant', anew],
    ['with a new participant of a file', byFile(['P-1,y'])],
    ['by a file', byFile(['P-1,x', 'P-1,y'])],
  ] as const)
    it(`after the next poll, where it is given ${how}`, async () => {
      const study = await enrolledByMistake((made) => polled(temporal, made, 0));
      await gives(study);
      await polled(temporal, study, 1);
      expect(await given(study)).to.deep.equal(ALL);
      expect((await polled(temporal, study, 2)).progress, 'and not again').to.include({ total: 0 });
    });
});
