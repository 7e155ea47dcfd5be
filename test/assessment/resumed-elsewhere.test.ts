import { expect } from 'chai';
import { unique } from '../support/http.js';
import { HOUR, Site, instant, trials } from './stage.js';
import type { BulkView } from './stage.js';

const outcomes = ({ results }: BulkView) =>
  results.map(({ status, code, conflict_type }) => code ?? conflict_type ?? status);

describe('A session that goes on on another device, which numbers its responses alike', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });

  const response = (sessionId: string, deviceId: string | null, task: string, accuracy = 0.5) => ({
    id: '1',
    sessionId,
    deviceId,
    task,
    summary: { accuracy },
    trials: trials(task, 1, { timestamp: instant(-HOUR) }),
  });
  const tasksOf = async (id: string) => Object.keys((await site.see(id)).task_summaries as object).sort();
  const unfinished = { status: 'in_progress', completedAt: null };

  for (const together of [false, true])
    it(`keeps the responses of both${together ? ', which come in one call' : ''}`, async () => {
      const id = unique('s');
      const startedAt = instant(-2 * HOUR);
      const [first, second] = [
        {
          sessions: [site.item(id, { startedAt, deviceId: 'one', ...unfinished })],
          responses: [response(id, 'one', 'stroop')],
        },
        { sessions: [site.item(id, { startedAt, deviceId: 'two' })], responses: [response(id, 'two', 'n_back')] },
      ];
      const calls = together
        ? [{ sessions: [...first.sessions, ...second.sessions], responses: [...first.responses, ...second.responses] }]
        : [first, second];
      const made = [];
      for (const call of calls) made.push(await site.bulk(call));
      expect(made.flatMap(outcomes), JSON.stringify(made)).to.deep.equal(Array(4).fill('created'));
      const server = made[0]!.results[0]!.server_id!;
      expect(await tasksOf(server)).to.deep.equal(['n_back', 'stroop']);
      for (const call of calls)
        expect(outcomes(await site.bulk(call)).every((one) => one === 'duplicate')).to.equal(true);
      expect(outcomes(await site.bulk({ ...second, responses: [response(id, 'two', 'n_back', 0.9)] }))).to.deep.equal([
        'duplicate',
        'duplicate_response',
      ]);
    });

  it('keeps the responses of both where it began on line', async () => {
    const session = await site.session({ device_id: 'one' });
    const one = await site.bulk({ responses: [response(session, 'one', 'stroop')] });
    const ended = site.item(session, { startedAt: instant(-HOUR), completedAt: instant(), deviceId: 'two' });
    const two = await site.bulk({ sessions: [ended], responses: [response(session, 'two', 'flanker')] });
    const late = await site.bulk({ responses: [{ ...response(session, 'one', 'digit_span'), id: '2' }] });
    expect([one, two, late].flatMap(outcomes), JSON.stringify(two)).to.deep.equal(Array(4).fill('created'));
    expect(await tasksOf(session)).to.deep.equal(['digit_span', 'flanker', 'stroop']);
    expect((await site.see(session)).device_id).to.equal('two');
  });

  it('is of one device: another task under the same id is a conflict', async () => {
    const id = unique('s');
    for (const deviceId of ['one', null]) {
      const made = await site.bulk({
        sessions: [site.item(`${id} ${deviceId}`, { deviceId })],
        responses: [
          response(`${id} ${deviceId}`, deviceId, 'stroop'),
          response(`${id} ${deviceId}`, deviceId, 'n_back'),
        ],
      });
      expect(outcomes(made)).to.deep.equal(['created', 'created', 'duplicate_response']);
    }
  });

  it('has the battery that is named at its end, in the version of now; one that it has keeps its version', async () => {
    const battery = await site.battery([{ task: 'custom', name: unique('tower') }]);
    const path = `/api/batteries/${String(battery.id)}`;
    const publish = () => site.http.expect(200, 'PATCH', path, { status: 'published' });
    await publish();
    // Only a session that names it is of this visit.
    const visit = await site.visit({ battery_id: battery.id }, [5, 6]);
    const startedAt = instant(-2 * HOUR);
    const begun = [{ batteryId: battery.id }, {}, {}] as const;
    const ended = [{ batteryId: battery.id }, { batteryId: battery.id }, { visitId: visit.id }] as const;
    const ids = begun.map(() => unique('s'));
    await site.bulk({ sessions: begun.map((one, i) => site.item(ids[i]!, { startedAt, ...unfinished, ...one })) });
    await site.http.expect(200, 'PATCH', path, { name: 'Another name' });
    await publish();
    const made = await site.bulk({ sessions: ended.map((one, i) => site.item(ids[i]!, { startedAt, ...one })) });
    const seen = await Promise.all(made.results.map(({ server_id }) => site.see(server_id!)));
    expect(
      seen.map(({ battery_id, battery_version }) => [battery_id, battery_version]),
      JSON.stringify(made),
    ).to.deep.equal([
      [battery.id, 1],
      [battery.id, 2],
      [battery.id, 2],
    ]);
  });

  it('has results under the names of the version in which it began', async () => {
    const battery = await site.battery([{ task: 'stroop', name: 'First' }]);
    const path = `/api/batteries/${String(battery.id)}`;
    const publish = () => site.http.expect(200, 'PATCH', path, { status: 'published' });
    await publish();
    const id = unique('s');
    const fields = { startedAt: instant(-2 * HOUR), batteryId: battery.id };
    await site.bulk({ sessions: [site.item(id, { ...fields, ...unfinished })] });
    await site.http.expect(201, 'POST', `${path}/modules`, { task: 'stroop', name: 'Second' });
    await publish();
    const [first] = battery.modules as { id: string }[];
    const made = await site.bulk({
      sessions: [site.item(id, fields)],
      responses: [{ ...response(id, null, 'stroop'), moduleId: first!.id }],
    });
    expect(outcomes(made), JSON.stringify(made)).to.deep.equal(['created', 'created']);
    expect(await tasksOf(made.results[0]!.server_id!)).to.deep.equal(['stroop']);
  });
});
