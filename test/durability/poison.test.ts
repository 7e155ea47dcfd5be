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
  before(async () => { [stage, capture] = [await Stage.open(), await CaptureStage.set()]; });
  after(async () => {
    await stage?.sql(`delete from outbox where topic = 'datacapture-poll' and subject like 'poison %'`);
    await capture?.clear();
    await stage?.close();
  });

  it('holds up no other in the outbox: it is tried again, ever later, and says why', async () => {
    const study = await stage.study();
    const person = await study.person();
    await person.set(DAY);
    await stage.sql(`insert into outbox (topic, study_id, subject) select 'datacapture-poll', ?, 'poison ' || n from generate_series(1, ?::int) n`, [study.id, POISON]);
    await until(async () => (await stage.sql(`select 1 from outbox where subject like 'poison %' and attempts > 1`)).length > POISON / 2, { what: 'the poison to be tried' });
    await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized' });
    const poison = await stage.sql<{ last_error: string | null; attempts: number }>(`select last_error, attempts from outbox where subject like 'poison %' and attempts > 1`);
    expect(poison.length).to.be.above(0);
    for (const { last_error } of poison) expect(last_error).to.equal('22P02');
    expect((await stage.sql(`select 1 from outbox where subject = ?`, [person.id])).length).to.equal(0);
    expect((await stage.sql(`select 1 from outbox where subject like 'poison %'`)).length, 'kept').to.equal(POISON);
  });

  it('of a participant who is not there ends, and holds up nobody', async () => {
    const study = await stage.study(), nobody = randomUUID();
    await stage.sql(`insert into outbox (topic, study_id, subject) values ('sources-changed', ?, ?)`, [study.id, nobody]);
    await until(async () => (await stage.handle(nobody).describe()).status.name === 'COMPLETED', { what: 'the workflow of nobody to end' });
    const person = await study.person();
    await person.set(DAY);
    await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized' });
  });

  it('of a record that cannot be stored fails with its reason, and the records beside it are processed', async () => {
    const study = await capture.study();
    const good = ['G-1', 'G-2', 'G-3'];
    // A sign that the database takes in no text: the record is refused for good, not tried for ever.
    await study.enroll('BAD', { enrolled: DAY, mail: 'a\u0000b@example.org', lang: 'e\u0000n' }, { trigger: false });
    for (const record of good) await study.enroll(record, { enrolled: DAY }, { trigger: false });
    for (const record of ['BAD', ...good]) expect((await study.trigger({ record })).status).to.equal(200);
    const events = await study.settled(4, 60_000);
    expect(events.filter(({ record }) => good.includes(record)).map(({ status }) => status)).to.deep.equal(['processed', 'processed', 'processed']);
    const bad = events.find(({ record }) => record === 'BAD')!;
    expect(bad.status === 'failed' ? bad.error : bad.warnings, 'why, or what was left out').to.not.be.empty;
    expect((await study.participants()).map(({ external_id }) => external_id)).to.include.members(good);
  });
});
