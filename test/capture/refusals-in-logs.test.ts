import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { unique } from '../support/http.js';
import { until } from '../support/until.js';
import { PushStage } from './push-stage.js';
import { Stage } from './support.js';

/** A refusal in words of its own, which quote a person’s data. */
const refusal = (error: string, content: string) => ({
  status: 400,
  body: JSON.stringify({ error }),
  content_type: 'application/json',
  content: [content],
});

describe('the words with which a capture system refuses', function () {
  this.timeout(180_000);
  let stage: Stage;
  let pushes: PushStage;
  let name: string;
  before(async () => {
    [stage, pushes] = [await Stage.set({ polls: false }), await PushStage.set()];
  });
  after(async () => {
    await stage?.clear();
    await pushes?.clear();
  });
  beforeEach(() => {
    name = unique('Lovelace');
  });

  const logs = () =>
    ['worker.log', 'api.log'].map((one) => readFileSync(join(pushes.run.data_dir, 'logs', one), 'utf8')).join('');
  /** The log entry with these fields, as soon as it is written. */
  const told = (fields: Record<string, unknown>) =>
    until(
      () =>
        readFileSync(join(pushes.run.data_dir, 'logs', 'worker.log'), 'utf8')
          .split('\n')
          .filter((line) => line.startsWith('{') && line.endsWith('}'))
          .map((line) => JSON.parse(line) as Record<string, unknown>)
          .find((line) => Object.entries(fields).every(([key, value]) => line[key] === value)),
      { what: 'the log entry' },
    );

  it('stay with the push, in no log: it has the status, and how long they are', async () => {
    const study = await pushes.study();
    const words = `Ada ${name}, born 1815-12-10, is not in this project`;
    study.fault(refusal(words, 'record:import'));
    const { session } = await study.ended();
    const { message } = await study.attempt(session, () => true, 'the refused push');
    expect(message).to.equal(`The capture system refused (400): ${words}`);
    const entry = await told({ session_id: session, severity: 'critical' });
    expect(entry['reason']).to.equal(
      `The capture system refused (400): ${words.length} characters, which are not logged`,
    );
    expect(logs()).to.not.include(name);
  });

  it('are not logged as rules of fields either', async () => {
    const study = await pushes.study();
    study.fault({ ...refusal(`"1","flanker_mean_rt","412","${name} has a locked form"`, 'record:import') });
    const { session } = await study.ended();
    const { message } = await study.attempt(session, () => true, 'the refused push');
    expect(message).to.include(name);
    const entry = await told({ session_id: session, severity: 'critical' });
    expect(entry['reason']).to.match(/^The capture system (refused|does not take)/);
    expect(logs()).to.not.include(name);
  });

  it('stay with the trigger, in no log', async () => {
    const study = await stage.study();
    stage.simulator.control.setFaults([
      { ...refusal(`${name} is not to be seen`, 'record'), project_id: Number(study.projectId) },
      { ...refusal(`${name} is not to be seen here`, 'project'), project_id: Number(study.projectId) },
    ]);
    await study.enroll('1', { enrolled: '2026-01-15' });
    const [event] = await study.settled(1);
    expect(event).to.include({ status: 'failed' });
    expect(event!.error).to.include(name);
    const entry = await told({ study_id: study.id, activity: 'processTrigger' });
    expect(entry['reason']).to.match(/^The capture system refused \(400\): \d+ characters/);
    expect(logs()).to.not.include(name);
    stage.simulator.control.clearFaults();
  });
});
