import { expect } from 'chai';
import { CountedWay } from '../bench/round-trips.js';
import { Stage } from '../anchor/stage.js';
import { startApi } from '../support/api-process.js';
import { goodPassword } from '../support/http.js';
import { service } from '../support/service.js';
import { pagesToShow } from './pages.js';
import { Visitor, waiting } from './stage.js';
import type { Waiting } from './stage.js';

const MOST = 5,
  TRIES = 3;

describe('round trips of the console', function () {
  this.timeout(120_000);
  let stage: Stage, way: CountedWay, api: Awaited<ReturnType<typeof startApi>>;
  let one: Waiting;
  before(async () => {
    stage = await Stage.open();
    one = await waiting(stage);
    way = await CountedWay.open((await service()).database_url);
    api = await startApi({ DATABASE_URL: way.url });
  });
  after(async () => {
    await api?.stop();
    await way?.close();
    await stage?.close();
  });

  it('are five at most for each page and each tab of a participant', async () => {
    const visitor = new Visitor(api.url);
    const { admin_email, admin_password } = await service();
    expect((await visitor.login(admin_email, admin_password ?? goodPassword)).status).to.equal(303);
    const visit = (await one.person.visits())[0]!;
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${one.study.id}/sites`, { site_code: 'ONE' });
    const subjects = {
      study: one.study.id,
      participant: one.person.id,
      user: one.asker.userId!,
      approval: one.request,
      more: { visit_id: visit.id, site_id: site.id, template_id: 'longitudinal-cognition' },
    };
    const paths = pagesToShow(subjects).map(({ path }) => path);
    const over: string[] = [];
    for (const path of paths) {
      // The first time on a connection, statements are made ready.
      const { status } = await visitor.get(path);
      expect(status, path).to.be.oneOf([200, 303]);
      // What the API does by itself meanwhile goes the same way: the least of a few tries is the page's own.
      let trips = Infinity;
      for (let i = 0; i < TRIES && trips > MOST; i += 1)
        trips = Math.min(trips, await way.during(() => visitor.get(path)));
      if (trips > MOST) over.push(`${path} asks ${trips} times`);
    }
    expect(over).to.deep.equal([]);
  });
});
