import { expect } from 'chai';
import { Temporal } from 'temporal-polyfill';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { anchorState } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { withOtherClock } from './other-clock.js';
import { withSmallRuns } from './small-runs.js';
import { Stage } from './stage.js';
import type { Person } from './stage.js';

const ZONE = 'Pacific/Auckland';
const policy = {
  sources: [
    { type: 'form_item', form_mapping: { form_oid: 'ENROLL', item_oid: 'DAY', partial_date_handling: 'reject' } },
    { type: 'manual_entry' },
  ],
  prerequisites: { require_consent_signed: false },
  time_precision: { timezone_policy: 'study_timezone', study_timezone: ZONE },
};
/** A day that is ahead in every zone, also when the test runs over midnight. */
const inDays = (days: number) => Temporal.Now.plainDateISO('UTC').add({ days }).toString();
const midnightOf = (day: string) => Temporal.PlainDate.from(day).toZonedDateTime(ZONE).toInstant().epochMilliseconds;

describe('A source’s date that lies ahead', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const state = (person: Person) => stage.handle(person.id).query(anchorState);
  const waitsFor = (person: Person, day: string) =>
    until(async () => expect((await state(person))?.date_ahead?.date).to.equal(day) && state(person), {
      what: `the workflow to wait for ${day}`,
    });
  /** The last timer of the participant's workflow, which was started after `asked`, ends when the day begins. */
  const timerEnds = (person: Person, day: string, asked: number) =>
    until(
      async () => {
        const { events } = await stage.handle(person.id).fetchHistory();
        const { startToFireTimeout: takes } = events!
          .map((event) => event.timerStartedEventAttributes)
          .filter((timer) => timer)
          .at(-1)!;
        const ms = Number(takes!.seconds) * 1000 + (takes!.nanos ?? 0) / 1e6;
        // It was set at some moment from the request until now, to the second.
        expect(ms).to.be.within(midnightOf(day) - Date.now() - 1500, midnightOf(day) - asked + 1500);
        return true;
      },
      { what: 'the timer' },
    );

  it('is waited for: the workflow says so, and its timer ends at midnight of the policy’s zone', async () => {
    const person = await (await stage.study(policy)).person();
    const day = inDays(3);
    const asked = Date.now();
    await person.form('ENROLL', { DAY: day });
    const now = await waitsFor(person, day);
    expect(now!.waiting_for).to.include('date');
    expect(Date.parse(now!.date_ahead!.begins_at)).to.equal(midnightOf(day));
    expect(await person.anchor()).to.include({ status: 'unset', enrollment_date: null });
    await timerEnds(person, day, asked);
    // Another date, another day; none, none.
    const later = inDays(5),
      askedAgain = Date.now();
    await person.form('ENROLL', { DAY: later });
    await waitsFor(person, later);
    await timerEnds(person, later, askedAgain);
    await person.form('ENROLL', { DAY: '2024-03-10' });
    await person.becomes({ status: 'finalized', enrollment_date: '2024-03-10' });
    await until(async () => expect(await state(person)).to.deep.include({ waiting_for: [], date_ahead: null }));
  });

  it('is waited for as well where a change of the policy or a proposal’s source makes it so', async () => {
    const study = await stage.study({ ...policy, validation: { cannot_be_future: false } });
    const person = await study.person();
    const proposed = await (
      await stage.study({ ...policy, prerequisites: { require_eligibility_confirmed: true } })
    ).person();
    const day = inDays(4);
    await proposed.form('ENROLL', { DAY: '2024-03-10' });
    await proposed.becomes({ status: 'provisional' });
    await proposed.form('ENROLL', { DAY: day });
    expect((await waitsFor(proposed, day))!.waiting_for).to.have.members(['date', 'eligibility', 'consent']);
    await study.policy({ ...policy, sources: [{ type: 'manual_entry' }] });
    await person.form('ENROLL', { DAY: day });
    await person.settled();
    expect((await state(person))?.date_ahead).to.equal(null);
    await study.policy(policy);
    await waitsFor(person, day);
  });

  it('is evaluated when its day has come', async function () {
    const person = await (await stage.study({ ...policy, time_precision: { timezone_policy: 'utc' } })).person();
    const day = inDays(2);
    await person.form('ENROLL', { DAY: day });
    await waitsFor(person, day);
    // A worker whose database has another clock: three seconds before that day.
    const ahead = Math.round((Date.parse(`${day}T00:00:00Z`) - Date.now()) / 1000) - 3;
    const done = await withOtherClock(stage, ahead, (database) =>
      withSmallRuns(
        stage,
        async (environment: TestWorkflowEnvironment, messages) => {
          await messages.start({ participant_id: person.id, study_id: person.study.id });
          const anchor = await person.becomes({ status: 'finalized', enrollment_date: day });
          expect(anchor.source_type).to.equal('form_item');
          const [entry] = await person.history();
          expect(entry).to.include({ event_type: 'SET', actor_type: 'workflow' });
          return environment;
        },
        database,
      ),
    );
    if (done === null) this.skip();
  });
});
