import { expect } from 'chai';
import { Stage } from './support.js';

describe('trigger webhook: which rows a trigger reads', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('knows the record by the first field of the dictionary, wherever it stands in the answer', async () => {
    const study = await stage.study();
    await study.enroll('a', { enrolled: '2026-01-15', lang: 'de' }, { trigger: false });
    const row = { enroll_complete: '2', lang: 'de', enrolled: '2026-01-15', redcap_event_name: 'baseline_arm_1' };
    // A filter that was ignored: the other record comes first.
    const body = JSON.stringify([
      { ...row, lang: 'fr', subject_id: 'b' },
      { ...row, subject_id: 'a' },
    ]);
    stage.simulator.control.setFaults({
      project_id: Number(study.projectId),
      content: ['record:export'],
      body,
      content_type: 'application/json',
    });
    try {
      await study.trigger({ record: 'a', redcap_event_name: 'baseline_arm_1' });
      expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created', error: null });
    } finally {
      stage.simulator.control.clearFaults();
    }
    expect(
      (await study.participants()).map((p) => [p.external_id, p.preferred_language, p.enrollment_date]),
    ).to.deep.equal([['a', 'de', '2026-01-15']]);
  });

  describe('in another character set', () => {
    const rows = JSON.stringify([
      {
        subject_id: 'a',
        redcap_event_name: 'baseline_arm_1',
        code: 'Zoë Müller',
        enrolled: '2026-01-15',
        enroll_complete: '2',
      },
    ]);
    async function answered(content_type: string, times?: number) {
      const study = await stage.study({
        config: { participant_field_mapping: { participant_code: 'code', enrollment_date: 'enrolled' } },
      });
      await study.enroll('a', { enrolled: '2026-01-15', code: 'Zoë Müller' }, { trigger: false });
      stage.simulator.control.setFaults({
        project_id: Number(study.projectId),
        content: ['record:export'],
        body: rows,
        encoding: 'latin1',
        content_type,
        ...(times !== undefined && { times }),
      });
      try {
        await study.trigger({ record: 'a', redcap_event_name: 'baseline_arm_1' });
        await study.settled(1);
      } finally {
        stage.simulator.control.clearFaults();
      }
      return (await study.participants()).map(({ participant_code }) => participant_code);
    }

    it('that the answer names: it is read by it', async () => {
      expect(await answered('application/json; charset=ISO-8859-1')).to.deep.equal(['Zoë Müller']);
    });

    it('that it does not name: nothing is stored with wrong letters, and the record is read again', async () => {
      expect(await answered('application/json; charset=utf-8', 1)).to.deep.equal(['Zoë Müller']);
    });
  });

  for (const compress of ['gzip', 'deflate', 'br'] as const)
    it(`reads an answer that a proxy compresses (${compress}) though nobody asked for it`, async () => {
      const study = await stage.study();
      await study.enroll('a', { enrolled: '2026-01-15', lang: 'de' }, { trigger: false });
      stage.simulator.control.setFaults({ project_id: Number(study.projectId), compress });
      try {
        await study.trigger({ record: 'a', redcap_event_name: 'baseline_arm_1' });
        expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created', error: null });
      } finally {
        stage.simulator.control.clearFaults();
      }
    });

  it('reads an answer in UTF-16, whatever it says of itself', async () => {
    const study = await stage.study();
    await study.enroll('a', { enrolled: '2026-01-15', lang: 'de' }, { trigger: false });
    stage.simulator.control.setFaults({ project_id: Number(study.projectId), encoding: 'utf16le' });
    try {
      await study.trigger({ record: 'a', redcap_event_name: 'baseline_arm_1' });
      expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created', error: null });
    } finally {
      stage.simulator.control.clearFaults();
    }
  });

  it('triggers of two events that take turns are duplicates as long as the record does not change', async () => {
    const study = await stage.study();
    await study.enroll('a', { enrolled: '2026-01-15', lang: 'de' }, { trigger: false });
    await study.enroll('a', { rt_mean: '400.0' }, { instrument: 'cognition', event: 'month_3_arm_1', trigger: false });
    const [baseline, whole] = [{ record: 'a', redcap_event_name: 'baseline_arm_1' }, { record: 'a' }];
    let sent = 0;
    const send = async (fields: Record<string, string>) => {
      await study.trigger(fields);
      sent += 1;
      return (await study.settled(sent)).at(-1)!;
    };
    const [first, second] = [await send(baseline), await send(whole)];
    expect([first.outcome, second.status, second.outcome]).to.deep.equal(['created', 'processed', 'unchanged']);
    expect(await send(baseline)).to.include({ status: 'duplicate', duplicate_of_id: first.id });
    expect(await send(whole)).to.include({ status: 'duplicate', duplicate_of_id: second.id });
    await study.enroll('a', { lang: 'fr' }, { trigger: false });
    expect(await send(baseline)).to.include({ status: 'processed', outcome: 'updated' });
    expect((await study.participants()).map((p) => p.preferred_language)).to.deep.equal(['fr']);
  });
});
