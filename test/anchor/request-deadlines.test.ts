import { expect } from 'chai';
import { anchorState, participantAnchorId } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { withOtherClock } from './other-clock.js';
import { withSmallRuns } from './small-runs.js';
import { DAY, Stage } from './stage.js';
import type { Person } from './stage.js';

const HOUR = 3_600;
const policy = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_override: ['admin', 'coordinator'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
  override_approval_timeout_hours: 1,
};

describe('The deadline of an override request, where Temporal’s clock is not the database’s', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  /** A request of which the approvers were reminded, and that is over in an hour. */
  const asked = async (): Promise<Person> => {
    const study = await stage.study(policy);
    const person = await study.person();
    await person.set(DAY);
    expect((await person.override('2024-03-17', await study.as('coordinator'))).status).to.equal(202);
    await endsIn(person, HOUR);
    return person;
  };
  const endsIn = (person: Person, seconds: number) =>
    stage.sql(
      `update override_requests set reminded_at = clock_timestamp(),
         expires_at = clock_timestamp() + :seconds * interval '1 second' where participant_id = :id`,
      { seconds, id: person.id },
    );

  it('a database that is behind is waited for, once: nothing is asked again and again', async function () {
    const person = await asked();
    const done = await withOtherClock(stage, -HOUR, (database) =>
      withSmallRuns(
        stage,
        async ({ client }, messages) => {
          // Not before all is there: the service looks for requests whose time is over, by its own clock.
          await endsIn(person, 1);
          await messages.start({ participant_id: person.id, study_id: person.study.id });
          const handle = client.workflow.getHandle(participantAnchorId(person.id));
          const state = await until(async () => handle.query(anchorState), { what: 'the state of the anchor' });
          // The hour by which the database is behind, and what is left of the request's second.
          expect(state!.pending_override!.wait_ms).to.be.within((HOUR - 60) * 1000, (HOUR + 1) * 1000);
          const timers = await until(
            async () => {
              const { events } = await handle.fetchHistory();
              const started = events!.flatMap(({ timerStartedEventAttributes: timer }) => timer ?? []);
              return started.length > 0 ? started : undefined;
            },
            { what: 'a timer' },
          );
          expect(timers.map(({ startToFireTimeout: takes }) => Number(takes!.seconds) > HOUR - 60)).to.deep.equal([
            true,
          ]);
          const entries = (await person.history()).map(({ event_type }) => event_type);
          expect(entries).to.deep.equal(['OVERRIDE_REQUESTED', 'SET']);
          return true;
        },
        database,
      ),
    );
    if (done === null) return this.skip();
  });

  it('a database that is ahead ends it when its time is over there', async function () {
    const person = await asked();
    const done = await withOtherClock(stage, HOUR - 3, (database) =>
      withSmallRuns(
        stage,
        async (environment, messages) => {
          await messages.start({ participant_id: person.id, study_id: person.study.id });
          await until(async () => (await person.history())[0]!.event_type === 'OVERRIDE_DENIED', {
            what: 'the request to expire',
          });
          return environment;
        },
        database,
      ),
    );
    if (done === null) return this.skip();
    expect((await person.history())[0]).to.include({ reason: 'expired', actor_type: 'system' });
  });
});
