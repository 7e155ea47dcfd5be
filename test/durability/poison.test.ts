import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import { Stage as CaptureStage } from '../capture/support.js';
import { until } from '../support/until.js';

/** More than the relay holds in its hands at once. */
const POISON = 80;

describe('A message that can never be carried out', function () {
  this.timeout(180_000);
  let stage: Stage, capture: CaptureStage;
  before(async () => {
    [stage, capture] = [await Stage.open(), await CaptureStage.set()];
  });
  after(async () => {
    await stage?.sql(`delete from outbox where topic = 'datacapture-poll' and subject like 'poison %'`);
    await capture?.clear();
    await stage?.close();
  });

  it('holds up no other in the outbox: it is tried again, ever later, and says why', async () => {
    const study = await stage.study();
    const person = await study.person();
    await person.set(DAY);
    await stage.sql(
      `insert into outbox (topic, study_id, subject) select 'datacapture-poll', ?, 'poison ' || n from generate_series(1, ?::int) n`,
      [study.id, POISON],
    );
    await until(
      async () =>
        (await stage.sql(`select 1 from outbox where subject like 'poison %' and attempts > 1`)).length > POISON / 2,
      { what: 'the poison to be tried' },
    );
    await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized' });
    const poison = await stage.sql<{ last_error: string | null; attempts: number }>(
      `select last_error, attempts from outbox where subject like 'poison %' and attempts > 1`,
    );
    expect(poison.length).to.be.above(0);
    for (const { last_error } of poison) expect(last_error).to.equal('22P02');
    // A message is deleted a moment after it has been carried out.
    await until(async () => (await stage.sql(`select 1 from outbox where subject = ?`, [person.id])).length === 0, {
      what: 'the message to be gone',
    });
    expect((await stage.sql(`select 1 from outbox where subject like 'poison %'`)).length, 'kept').to.equal(POISON);
  });

  it('a change of a study that is gone is delivered all the same', async () => {
    const gone = randomUUID();
    await stage.sql(
      `insert into outbox (topic, study_id, subject, payload) values ('study-changed', ?, ?, '{"kind": "windows"}')`,
      [gone, gone],
    );
    await until(async () => (await stage.sql('select 1 from outbox where subject = ?', [gone])).length === 0, {
      what: 'the message to be delivered',
    });
    expect(await stage.sql('select 1 from open_study_changes where study_id = ?', [gone])).to.deep.equal([]);
  });

  it('of a participant who is not there ends, and holds up nobody', async () => {
    const study = await stage.study(),
      nobody = randomUUID();
    await stage.sql(`insert into outbox (topic, study_id, subject) values ('sources-changed', ?, ?)`, [
      study.id,
      nobody,
    ]);
    await until(async () => (await stage.handle(nobody).describe()).status.name === 'COMPLETED', {
      what: 'the workflow of nobody to end',
    });
    const person = await study.person();
    await person.set(DAY);
    await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized' });
  });

  it('of a record that the database refuses whatever is tried: the records beside it are processed, and it too once it can be', async () => {
    const study = await capture.study(),
      good = ['G-1', 'G-2', 'G-3'],
      bad = `BAD-${study.projectId}`;
    for (const record of [bad, ...good]) await study.enroll(record, { enrolled: DAY }, { trigger: false });
    await stage.sql(
      `create function poison() returns trigger language plpgsql as $$ begin raise exception 'poisoned'; end $$`,
    );
    try {
      await stage.sql(
        `create trigger poison before insert on participants for each row when (new.external_id = '${bad}') execute function poison()`,
      );
      for (const record of [bad, 'NOBODY', ...good]) expect((await study.trigger({ record })).status).to.equal(200);
      const status = async (record: string) => (await study.events()).find((event) => event.record === record);
      for (const record of good)
        await until(async () => (await status(record))?.status === 'processed', { what: `${record} to be processed` });
      // A record that is not there is refused for good; this one is tried again and again.
      expect(
        await until(async () => ((await status('NOBODY'))?.status === 'failed' ? status('NOBODY') : undefined), {
          what: 'the record that is not there to fail',
        }),
      ).to.have.property('error').that.is.not.empty;
      expect((await status(bad))!.status).to.be.oneOf(['received', 'processing']);
    } finally {
      await stage.sql('drop function poison() cascade');
    }
    await study.settled(5, 60_000);
    expect((await study.participants()).map(({ external_id }) => external_id).sort()).to.deep.equal(
      [bad, ...good].sort(),
    );
  });
});
