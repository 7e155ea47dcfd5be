import { expect } from 'chai';
import { anchorState } from '../../workflows/contract.js';
import { until } from '../support/until.js';
import { DAY, Stage } from './stage.js';
import type { Person } from './stage.js';

describe('What a workflow waits for after a change of the study', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const waitsFor = (person: Person, wanted: string[]) =>
    until(
      async () =>
        expect((await stage.handle(person.id).query(anchorState))?.waiting_for).to.have.members(wanted) && true,
      { what: `the workflow to wait for ${wanted.join(', ')}` },
    );

  it('is what the present study asks for: a consent that is kept elsewhere, a start that has moved', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_eligibility_confirmed: true },
    });
    const person = await study.person();
    await person.set(DAY);
    await waitsFor(person, ['consent', 'eligibility']);
    const patch = (fields: Record<string, unknown>) =>
      stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, fields);
    await patch({ consent_mode: 'external' });
    await waitsFor(person, ['eligibility']);
    await patch({ start_date: '2024-04-01' });
    await waitsFor(person, ['date', 'eligibility']);
    await patch({ start_date: null, consent_mode: 'econsent' });
    await waitsFor(person, ['consent', 'eligibility']);
    expect(await person.anchor()).to.include({ status: 'provisional', enrollment_date: DAY, version: 2 });
  });

  it('is not told to those who wait for the same: their workflow gets no message', async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const person = await study.person();
    await person.set(DAY);
    await waitsFor(person, ['consent']);
    await study.settled();
    // Its start is a message as well, which it may take after the date.
    await person.settled();
    const length = async () => (await stage.handle(person.id).describe()).historyLength;
    const before = await length();
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { timezone: 'Europe/Berlin' });
    await study.settled();
    expect(await length()).to.equal(before);
  });
});
