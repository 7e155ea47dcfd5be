import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { consoleRoutes } from '../../api/console/console.routes.js';
import type { Route } from '../../api/http/route.js';
import { Stage } from '../anchor/stage.js';
import { Site, instant, HOUR } from '../assessment/stage.js';
import { Visitor, tokenIn, waiting } from '../console/stage.js';
import { formOf } from '../data/stage.js';
import { goodPassword, user } from '../support/http.js';
import type { Loose } from '../support/http.js';

type Ids = Record<string, string>;
/** What any of the forms may want to have, so that what is looked for after that is looked for. */
const FIELDS = {
  action: 'set',
  date: '2024-03-02',
  reason: 'from elsewhere',
  decision: 'approve',
  do: 'save',
  keep: 'server',
  status: 'signed',
  signed_at: '2024-03-01',
  to: '2024-03-03',
  name: 'W',
  code: 'X',
  target_day: '3',
  password: 'x',
  target_date: '2024-03-03',
  message: 'cancel',
};

/** The console is not in the contract: its ids are tried here, one by one and mixed with one's own. */
describe('No page or form of the console takes an id of another study', function () {
  this.timeout(180_000);
  let stage: Stage, foreign: Ids, own: Ids, marks: string[];
  const visitors: Record<string, Visitor> = {};
  before(async () => {
    stage = await Stage.open();
    const other = await waiting(stage, { code: `MARK-${randomUUID().slice(0, 8)}` });
    const mine = await waiting(stage);
    const site = await Site.open({}, stage.admin);
    const visit = await site.visit({}, [-2, 0]);
    const item = site.item('met', { visitId: visit.id });
    const sync = (body: object) => site.http.expect(200, 'POST', '/api/sync/sessions', body);
    await sync(item);
    await sync({ ...item, completedAt: instant(-HOUR) });
    const [conflict] = await stage.sql<{ id: string; session_id: string }>(
      'select id, session_id from sync_conflicts where study_id = ?',
      [site.study.id],
    );
    const idsOf = async (study: string, person: string, request: string): Promise<Ids> => {
      const one = async (sql: string) => (await stage.sql<{ id: string }>(sql, [study]))[0]!.id;
      const importId = randomUUID();
      const csv = await formOf('participant_code\nIMP-1\n');
      const path = `/api/studies/${study}/participants/import/csv?import_id=${importId}`;
      expect((await stage.admin.send('POST', path, undefined, { raw: csv })).status).to.equal(200);
      return {
        study_id: study,
        participant_id: person,
        request_id: request,
        visit_id: await one('select id from scheduled_visits where study_id = ? limit 1'),
        window_id: await one('select id from visit_windows where study_id = ? limit 1'),
        import_id: importId,
      };
    };
    foreign = {
      ...(await idsOf(other.study.id, other.person.id, other.request)),
      conflict_id: conflict!.id,
      session_id: conflict!.session_id,
    };
    own = await idsOf(mine.study.id, mine.person.id, mine.request);
    const [{ participant_code }] = (await stage.sql<{ participant_code: string }>(
      'select participant_code from participants where id = ?',
      [other.person.id],
    )) as [{ participant_code: string }];
    const [{ study_code }] = (await stage.sql<{ study_code: string }>('select study_code from studies where id = ?', [
      other.study.id,
    ])) as [{ study_code: string }];
    marks = [participant_code, study_code];
    for (const role of ['researcher', 'coordinator', 'data_manager'] as const) {
      const { email } = await user(stage.admin, role, { study_ids: [mine.study.id] });
      visitors[role] = new Visitor(stage.run.api);
      await visitors[role].login(email, goodPassword);
      expect((await visitors[role].get('/console/inbox')).status).to.equal(200);
    }
  });
  after(() => stage.close());

  const nothing = '00000000-0000-4000-8000-00000000abcd';
  const namesOf = ({ path }: Route) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const filled = (path: string, ids: Ids) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? nothing);
  /** What people did there: the service itself works on in the meantime, and its records name nobody. */
  const changes = async () =>
    (
      await stage.sql<{ action: string }>(
        'select action from audit_log where study_id = ? and user_id is not null and action <> ? order by seq',
        [foreign.study_id, 'access_denied'],
      )
    ).map(({ action }) => action);
  /** The id that is another's, in the place of one that is nobody's: nothing is told apart. */
  const tried = consoleRoutes.filter((route) => namesOf(route).some((name) => name.endsWith('_id')));

  for (const role of ['researcher', 'coordinator', 'data_manager'])
    it(`by a ${role}`, async () => {
      expect(tried.length).to.be.greaterThan(40);
      const visitor = visitors[role]!;
      const token = tokenIn((await visitor.get('/console/inbox')).text);
      const before = await changes();
      const wrong: string[] = [];
      for (const route of tried)
        for (const name of namesOf(route).filter((one) => foreign[one])) {
          const ask = (id: string, fields: Record<string, string>) =>
            visitor.send(
              route.method,
              filled(route.path, { ...own, [name]: id }),
              route.method === 'POST' ? { _token: token, ...fields } : undefined,
            );
          for (const fields of route.method === 'POST' ? [{}, FIELDS] : [{}]) {
            const [theirs, nobodys] = [await ask(foreign[name]!, fields), await ask(nothing, fields)];
            const what = `${route.method} ${route.path}, ${name}: ${theirs.status}, not ${nobodys.status}`;
            // A part of a page that is no more answers nothing.
            const refused = theirs.status >= 400 || (theirs.status === 204 && theirs.text === '');
            if (theirs.status !== nobodys.status || !refused) wrong.push(what);
            if (marks.some((mark) => theirs.text.includes(mark))) wrong.push(`${what}, and tells of it`);
          }
        }
      expect(wrong).to.deep.equal([]);
      expect(await changes()).to.deep.equal(before);
    });

  it('nor in a query, or a field of a form', async () => {
    const visitor = visitors.researcher!;
    const token = tokenIn((await visitor.get('/console/inbox')).text);
    for (const path of [
      '/console/inbox',
      '/console/today',
      '/console/participants',
      '/console/enroll',
      '/console/today/csv',
    ])
      for (const query of [`study=${foreign.study_id}`, `site=${nothing}&study=${foreign.study_id}`]) {
        const { text, status } = await visitor.get(`${path}?${query}`);
        expect(status, path).to.be.below(500);
        for (const mark of marks) expect(text, `${path}?${query}`).not.to.include(mark);
      }
    const before = await changes();
    const fields: Loose = { ...FIELDS, study_id: foreign.study_id, participant_id: foreign.participant_id } as never;
    const said = await visitor.send('POST', `/console/participants/${own.participant_id}/consents`, {
      _token: token,
      ...(fields as unknown as Record<string, string>),
      study: foreign.study_id!,
    });
    expect(said.status).to.be.below(500);
    expect(await changes()).to.deep.equal(before);
  });
});
