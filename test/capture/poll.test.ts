import { expect } from 'chai';
import { rangeBegin } from '../../activities/capture/client/export.js';
import { datacapturePollId } from '../../workflows/contract.js';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { pollBecomes, polled } from './polling.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

describe('the range of a poll', () => {
  it('begins early enough for a capture system in any zone, whose clock is local and says no zone', () => {
    expect(rangeBegin('2026-01-15T12:00:00Z')).to.equal('2026-01-14 23:45:00');
  });
});

describe('reconciling poll: what no trigger is sent for', function () {
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

  const becomes = (studyId: string, minutes: number) => pollBecomes(temporal, studyId, minutes);
  const poll = (study: CaptureStudy, known: number) => polled(temporal, study, known);
  const row = (record: string, values: Record<string, string> = {}) => ({
    subject_id: record,
    redcap_event_name: 'baseline_arm_1',
    enrolled: '2026-01-15',
    enroll_complete: '2',
    ...values,
  });

  it('follows the configuration: by default every hour, another interval, off, on; none for a study that takes no part', async () => {
    const study = await stage.study();
    await becomes(study.id, 60);
    await study.configure({ poll_interval_minutes: 30 });
    await becomes(study.id, 30);
    await study.configure({ poll_interval_minutes: 0.5 });
    await becomes(study.id, 0.5);
    await study.configure({ poll_interval_minutes: 0.001 });
    await becomes(study.id, 1 / 60);
    await study.configure({ poll_interval_minutes: 0 });
    await becomes(study.id, 0);
    await study.configure({ poll_interval_minutes: 60 });
    await becomes(study.id, 60);
    await stage.call('PATCH', `/api/studies/${study.id}`, { datacapture_enabled: false });
    await becomes(study.id, 0);
    await stage.call('PATCH', `/api/studies/${study.id}`, { datacapture_enabled: true });
    await becomes(study.id, 60);
    const next = (await temporal.client.schedule.getHandle(datacapturePollId(study.id)).describe()).info
      .nextActionTimes[0]!;
    expect(next.getTime() - Date.now(), 'the first poll comes after a whole interval').to.be.above(50 * 60_000);
  });

  it('reads everything first, then what has changed, as its trigger would be', async () => {
    const study = await stage.study();
    const project = Number(study.projectId);
    stage.simulator.control.load(project, [row('a', { lang: 'de' }), row('b', { lang: 'de' })]);
    const first = await poll(study, 0);
    expect(first).to.include({ kind: 'poll', status: 'completed', changed_since: null });
    expect(first.progress).to.include({ total: 2, created: 2 });

    stage.simulator.control.load(project, [row('b', { lang: 'fr' }), row('c')]);
    const second = await poll(study, 1);
    expect(second.changed_since).to.be.a('string');
    expect(second.progress).to.include({ created: 1, updated: 1, failed: 0 });
    expect((await study.participants()).map((p) => [p.external_id, p.preferred_language])).to.deep.equal([
      ['a', 'de'],
      ['b', 'fr'],
      ['c', null],
    ]);

    await study.configure({ participant_field_mapping: { email: null } });
    expect((await poll(study, 2)).changed_since, 'another mapping makes everything worth reading again').to.equal(null);
  });

  it('reports a record that has vanished since', async () => {
    const study = await stage.study();
    stage.simulator.control.load(Number(study.projectId), [row('v')]);
    await poll(study, 0);
    stage.simulator.control.deleteRecord(Number(study.projectId), 'v');
    const report = await poll(study, 1);
    expect(report.issues.items.map((issue) => [issue.record, issue.issues[0]!.code])).to.deep.equal([
      ['v', 'RECORD_VANISHED'],
    ]);
    expect((await study.participants())[0]).to.include({ external_id: 'v', status: 'enrolled' });
  });
});
