import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { enrollCaptured } from '../../db/capture/captured-participants.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { readFacts, readNewcomers } from '../../db/participants/facts.queries.js';
import { newcomersScheduleInputs, readScheduleInputs } from '../../db/scheduling/schedules.queries.js';
import { Stage, synced } from './support.js';

/** Ends a transaction of which nothing is to stay. */
class Undone extends Error {}

describe('a participant of a capture system, who is stored with a first decision', function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.set();
  });
  after(() => stage?.clear());

  it('has the facts and the plan of one who was stored before it', async () => {
    const study = await stage.study();
    const { body: site } = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/sites`, {
      site_code: 'S-1',
      name: 'A site',
      timezone: 'Asia/Tokyo',
    });
    const rows = ['a', 'b', 'c'].map((record, i) => ({
      record,
      participant_code: `code-${record}`,
      form_status: i === 0 ? 'draft' : 'complete',
      items: { enrolled: '2026-01-15', other: record },
      ...(i === 1 && {
        site_id: site.id,
        preferred_language: 'de',
        date_of_birth: '1950-02-28',
        arm: 'control',
        datacapture_arm: 1,
      }),
    }));
    const withoutTime = <Row extends { now: string; anchor: { updated_at: string } }>(row: Row) => {
      const { now: _now, anchor, ...others } = row;
      const { updated_at: _at, ...own } = anchor;
      return { ...others, anchor: own };
    };
    const compared = withStudyScope(stage.database, study.id, async ({ tx }) => {
      const made = await enrollCaptured(tx, study.id, 'enroll', rows);
      const ids = [...made.values()].sort();
      const newcomers = await readNewcomers(tx, ids, randomUUID);
      const inputs = await newcomersScheduleInputs(tx, study.id, ids);
      for (const { participant_id, anchor } of newcomers)
        await tx('anchor_dates').insert({ id: anchor.id, participant_id, study_id: study.id });
      const byId = new Map((await readFacts(tx, ids)).map((row) => [row.participant_id, row]));
      expect(newcomers.map(({ participant_id }) => participant_id)).to.have.members(ids);
      for (const { is_new, ...newcomer } of newcomers) {
        expect(is_new).to.equal(true);
        expect(withoutTime(newcomer)).to.deep.equal(withoutTime(byId.get(newcomer.participant_id)!));
      }
      expect(inputs).to.deep.equal(await readScheduleInputs(tx, study.id, ids));
      throw new Undone();
    });
    await compared.catch((fault: unknown) => {
      if (!(fault instanceof Undone)) throw fault;
    });
  });

  it('has an anchor even where there is no date yet, and each anchor names its schedule', async () => {
    const study = await stage.study();
    stage.simulator.control.load(Number(study.projectId), [
      { subject_id: 'dated', redcap_event_name: 'baseline_arm_1', enrolled: '2026-01-15', enroll_complete: '2' },
      { subject_id: 'undated', redcap_event_name: 'baseline_arm_1', enrolled: '', enroll_complete: '2' },
    ]);
    await synced(study);
    const rows = await stage.sql<Record<string, unknown>>(
      `select p.external_id, a.status, a.version, a.enrollment_date_value::text as date,
         p.enrollment_date::text as mirrored, a.current_schedule_version_id = v.id as names_it
       from participants p join anchor_dates a on a.participant_id = p.id
         join schedule_versions v on v.participant_id = p.id and v.is_current
       where p.study_id = ? order by 1`,
      [study.id],
    );
    expect(rows).to.deep.equal([
      {
        external_id: 'dated',
        status: 'finalized',
        version: 2,
        date: '2026-01-15',
        mirrored: '2026-01-15',
        names_it: true,
      },
      { external_id: 'undated', status: 'unset', version: 1, date: null, mirrored: null, names_it: true },
    ]);
  });
});
