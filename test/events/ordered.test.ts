import { expect } from 'chai';
import { AnchorStudy, Stage } from '../anchor/stage.js';
import { openDatabase } from '../../db/client/knex.js';
import { Receiver } from '../support/receiver.js';
import { until } from '../support/until.js';
import { FINAL_AT_ONCE, subscribe, subscriptions } from './stage.js';

const TYPES = ['PARTICIPANT_WITHDRAWN', 'PARTICIPANT_REINSTATED'] as const;

describe('A subscription that sends in order', function orderedTests() {
  let stage: Stage;
  let study: AnchorStudy;
  let receiver: Receiver;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(FINAL_AT_ONCE, { days: [] });
    receiver = await Receiver.open();
  });
  after(async () => {
    await receiver.close();
    await stage.close();
  });
  const typesAt = (path: string): string[] =>
    receiver.at(path).map(({ body }) => (JSON.parse(body) as { type: string }).type);

  it('sends an event after one whose transaction began before it, however late that commits', async () => {
    const ordered = await subscribe(study, `${receiver.url}/ordered`, { events: TYPES, ordered: true });
    const free = await subscribe(study, `${receiver.url}/free`, { events: TYPES });
    const database = openDatabase({ url: stage.run.database_url, name: 'ordered-test', poolMax: 2, asOwner: true });
    const write = `insert into domain_events (type, study_id, data) values (?, ?, '{}')`;
    try {
      const first = await database.transaction();
      await first.raw(`select set_config('app.studies', '*', true)`);
      await first.raw(write, [TYPES[0], study.id]);
      await stage.sql(write, [TYPES[1], study.id]);
      // Both subscriptions are looked at by the same statement.
      await until(() => typesAt('/free').length === 1, { what: 'the event that nothing waits for' });
      await first.commit();
      await until(() => typesAt('/ordered').length === 2, { what: 'both events in order' });
      expect(typesAt('/ordered')).to.deep.equal(TYPES);
      await until(() => typesAt('/free').length === 2, { what: 'the late event' });
      expect(typesAt('/free')).to.deep.equal([...TYPES].reverse());
    } finally {
      await database.destroy();
    }
    for (const { id } of [ordered, free]) await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${id}`);
  });
});
