import { expect } from 'chai';
import { reconcileParticipants } from '../../activities/operations/reconcile.js';
import { Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { asMuchAs } from '../support/in-full.js';
import { until } from '../support/until.js';
import { studyReanchoringId } from '../../workflows/contract.js';

/** At 25 a second they take some seconds, in which somebody else is served. */
const LOST = asMuchAs(175, 300);

describe('Participants whose workflows were lost', function lost() {
  this.timeout(300_000);
  let stage: Stage;
  let study: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study({ prerequisites: { require_eligibility_confirmed: false } });
  });
  after(() => stage.close());

  it('get them again, after those that are waited for', async () => {
    const person = await study.person();
    await person.settled();
    // The worker sweeps by itself, one sweep at a time: one that came in between would start them before they are
    // looked for here.
    const { ids, started } = await stage.database.transaction(async (lock) => {
      await lock.raw(`select pg_advisory_xact_lock(hashtext('reconcile-participants'))`);
      const made = await stage.sql<{ id: string }>(
        `with made as (insert into participants (study_id, participant_code, created_at) select ?, 'L-' || n, now() - interval '5 minutes' from generate_series(1, ?::integer) n returning id, study_id),
           anchors as (insert into anchor_dates (participant_id, study_id) select id, study_id from made)
         select id from made`,
        [study.id, LOST],
      );
      return {
        ids: made.map(({ id }) => id),
        ...(await reconcileParticipants({ database: stage.database, client: stage.temporal })),
      };
    });
    expect(started).to.be.at.least(LOST);
    // Those of other tests would go first, and may be thousands.
    await stage.sql(
      `update outbox set available_at = available_at - interval '1 hour' where topic = 'participant-start' and subject = any(?)`,
      [ids],
    );
    const waiting = async () =>
      (await stage.sql(`select 1 from outbox where topic = 'participant-start' and subject = any(?)`, [ids])).length;
    await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized' });
    expect(await waiting(), 'they give way').to.be.greaterThan(0);
    await until(async () => (await waiting()) === 0, { timeout: 240_000, what: 'the lost ones to be started' });
    for (const id of ids.slice(-3)) expect((await stage.handle(id).describe()).status.name).to.equal('RUNNING');
    await reconcileParticipants({ database: stage.database, client: stage.temporal });
    expect(await waiting(), 'who has one is left alone').to.equal(0);
  });

  it('count those whose workflow waits on another task queue, where it stays', async () => {
    const person = await study.person();
    await person.settled();
    await stage.sql(`update participants set created_at = created_at - interval '5 minutes' where id = ?`, [person.id]);
    const elsewhere = async (taskQueue: string) =>
      (await reconcileParticipants({ database: stage.database, client: stage.temporal, taskQueue })).elsewhere;
    const own = stage.run.temporal_task_queue;
    await until(async () => (await elsewhere(`${own}-2`)) > (await elsewhere(own)), {
      what: 'the run on the former queue to be counted',
    });
  });
});

describe('A change of a study whose message is delivered again, after it was applied', function again() {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage?.close());

  it('is done: nobody is told that it is being applied', async () => {
    const study = await stage.study();
    const path = `/api/studies/${study.id}`;
    const change = `again-${study.id}`;
    // As by a relay that dies, or loses its connection, before it has deleted what it delivered.
    const deliver = async () => {
      await stage.sql(
        `insert into outbox (topic, study_id, subject, payload)
           values ('study-changed', ?, ?, jsonb_build_object('kind', 'windows', 'change_id', ?::text))`,
        [study.id, study.id, change],
      );
      await until(
        async () =>
          (await stage.sql(`select 1 from outbox where topic = 'study-changed' and subject = ?`, [study.id])).length ===
          0,
        { what: 'the message to be delivered' },
      );
    };
    const isDone = () =>
      until(async () => (await stage.temporal.workflow.getHandle(id).describe()).status.name === 'COMPLETED', {
        what: 'the change to be applied',
      });
    const id = studyReanchoringId(study.id, change);
    await deliver();
    await isDone();
    await deliver();
    await isDone();
    expect(await stage.sql('select change_id from open_study_changes where study_id = ?', [study.id])).to.deep.equal(
      [],
    );
    expect(await stage.admin.expect(200, 'GET', `${path}/reanchorings/${change}`)).to.include({ status: 'completed' });
  });
});
