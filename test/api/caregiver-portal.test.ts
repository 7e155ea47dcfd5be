import { expect } from 'chai';
import pg from 'pg';
import { Site } from '../assessment/stage.js';
import { document as contract } from '../support/contract.js';
import { Http, unique } from '../support/http.js';
import type { Answer, Loose } from '../support/http.js';
import { enterAsCaregiver, enterPortal, ownDate, sendCaregiverLink } from '../support/portal.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

interface Person extends Loose {
  participant_code: string;
  study_id: string;
}
interface Session extends Loose {
  portal_token: string;
  expires_in: number;
  participant: Loose | null;
  caregiver: Loose;
  participants: Loose[];
}

const about = (id: string) => ({ headers: { 'X-Participant-ID': id } });

describe('The portal of a caregiver', function portal() {
  this.timeout(120_000);
  let site: Site;
  let elsewhere: Site;
  let root: Http;
  let anybody: Http;
  let owner: pg.Client;
  let at: string;
  let battery: Loose;
  /** Two whom the caregiver cares for, one of the same study, one of another. */
  let first: Person, second: Person, other: Person, strange: Person;
  let caregiver: Loose;
  let http: Http;
  before(async () => {
    const { api, database_url } = await service();
    site = await Site.open({ config: { enrollment_date_policy: ownDate, portal_results: 'summary' } });
    elsewhere = await Site.open({ config: { enrollment_date_policy: ownDate, portal_results: 'summary' } });
    root = site.http;
    anybody = new Http(api);
    owner = new pg.Client({ connectionString: database_url });
    await owner.connect();
    await owner.query(`select set_config('app.studies', '*', false)`);
    at = `/api/studies/${site.study.id}/caregivers`;
    [first, second, other, strange] = (await Promise.all([
      site.newParticipant(),
      site.newParticipant(),
      site.newParticipant(),
      elsewhere.newParticipant(),
    ])) as Person[] as [Person, Person, Person, Person];
    battery = await site.battery();
    await root.expect(200, 'PATCH', `/api/batteries/${String(battery.id)}`, { status: 'published' });
    for (const person of [first, second, other])
      await site.visit({ participant_id: person.id, name: `of ${person.participant_code}` });
    await elsewhere.visit({ participant_id: strange.id });
    caregiver = await caringFor([first, second], { name: 'Ada', preferred_language: 'de' });
    http = await enterAsCaregiver(root, site.study.id, caregiver.id);
  });
  after(() => owner.end());

  async function caringFor(people: Loose[], fields: object = {}): Promise<Loose> {
    const made = await root.expect(201, 'POST', at, { name: 'Somebody', ...fields });
    for (const person of people)
      await root.expect(200, 'PUT', `${at}/${made.id}/participants/${person.id}`, { relationship: 'parent' });
    return made;
  }
  const link = (of: Loose) => sendCaregiverLink(root, site.study.id, of.id);
  const open = (token: string): Promise<Answer<Session>> => anybody.post<Session>('/api/portal/session', { token });
  const audited = async (action: string): Promise<Loose[]> =>
    (await root.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&action=${action}&limit=500`)).items;

  describe('a link', () => {
    it('is for exactly one: a participant, or a caregiver who is active, has an address and cares for somebody', async () => {
      const ask = (body: object) => root.post('/api/portal/magic-link', { channel: 'email', ...body });
      const [nobody, idle, silent] = [
        await caringFor([], { email: 'nobody@example.org' }),
        await caringFor([first], { email: 'idle@example.org', status: 'inactive' }),
        await caringFor([first]),
      ];
      for (const [body, status, code] of [
        [{}, 422, 'VALIDATION_FAILED'],
        [{ participant_id: first.id, caregiver_id: caregiver.id }, 422, 'VALIDATION_FAILED'],
        [{ caregiver_id: nobody.id }, 409, 'CARES_FOR_NOBODY'],
        [{ caregiver_id: idle.id }, 409, 'CAREGIVER_INACTIVE'],
        [{ caregiver_id: silent.id }, 400, 'NO_ADDRESS'],
        [{ caregiver_id: first.id }, 404, 'NOT_FOUND'],
      ] as const) {
        const answer = await ask(body);
        expect([answer.status, answer.body.code], JSON.stringify(body)).to.deep.equal([status, code]);
      }
    });

    it('opens once, names whom it is for and says nothing of its token; the records name the caregiver', async () => {
      const ben = await caringFor([first, second], { name: 'Ben' });
      const token = await link(ben);
      const { status, body, headers, text } = await open(token);
      expect(status, text).to.equal(200);
      expect(body).to.have.all.keys(
        'portal_token',
        'expires_in',
        'refresh_token',
        'refresh_expires_in',
        'participant',
        'caregiver',
        'participants',
      );
      expect([body.participant, body.caregiver]).to.deep.equal([
        null,
        { id: ben.id, study_id: site.study.id, name: 'Ben', preferred_language: null },
      ]);
      expect(body.participants.map(({ id, relationship }) => [id, relationship])).to.have.deep.members([
        [first.id, 'parent'],
        [second.id, 'parent'],
      ]);
      expect(headers.get('set-cookie')).to.match(
        /^portal_session=\S+; Path=\/api; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
      );
      expect([(await open(token)).status, (await open(token)).body.code]).to.deep.equal([401, 'INVALID_LINK']);
      const { rows } = await owner.query<{ name: string }>(
        `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
      );
      for (const { name } of rows)
        expect(
          (await owner.query(`select 1 from ${name} x where position($1 in x::text) > 0`, [token])).rowCount,
          name,
        ).to.equal(0);
      const [started] = (await audited('portal_session_started')).filter(({ resource_id }) => resource_id === ben.id);
      expect(started).to.deep.include({
        user_id: null,
        resource_type: 'caregiver',
        audit_metadata: { actor_type: 'caregiver', caregiver_id: ben.id },
      });
      const refused = (await audited('portal_session_refused')).filter(({ resource_id }) => resource_id === ben.id);
      expect(refused.map(({ audit_metadata }) => (audit_metadata as Loose).reason)).to.deep.equal(['used', 'used']);
    });

    it('of one participant alone says which; the cookie reads, and changes with its header', async () => {
      const answer = await open(await link(await caringFor([second])));
      expect(answer.body.participant).to.deep.equal({
        id: second.id,
        study_id: site.study.id,
        participant_code: second.participant_code,
        preferred_language: null,
        status: 'enrolled',
      });
      const Cookie = answer.headers.get('set-cookie')!.split(';')[0]!;
      expect(await anybody.expect(200, 'GET', '/api/portal/me', undefined, { headers: { Cookie } })).to.include({
        id: second.id,
      });
      const choose = (headers: Record<string, string>) =>
        anybody.patch('/api/portal/preferences', { sms: true }, { headers: { Cookie, ...headers } });
      expect([(await choose({})).body.code, (await choose({ 'X-Portal-CSRF': '1' })).status]).to.deep.equal([
        'CSRF_REFUSED',
        200,
      ]);
    });

    it('is refused when it is too old, or the caregiver was set inactive or deleted', async () => {
      const [late, idle, gone] = [await caringFor([first]), await caringFor([first]), await caringFor([first])];
      const tokens = [await link(late), await link(idle), await link(gone)];
      await owner.query('update portal_links set expires_at = clock_timestamp() where caregiver_id = $1', [late.id]);
      await root.expect(200, 'PATCH', `${at}/${idle.id}`, { status: 'inactive' });
      await root.expect(204, 'DELETE', `${at}/${gone.id}`);
      for (const token of tokens) expect([(await open(token)).body.code]).to.deep.equal(['INVALID_LINK']);
    });
  });

  describe('which participant', () => {
    it('is listed, and listed for a participant’s own token as itself', async () => {
      const listed = await http.expect<Loose & { caregiver: Loose }>(200, 'GET', '/api/portal/participants');
      expect(listed.caregiver).to.deep.equal({
        id: caregiver.id,
        study_id: site.study.id,
        name: 'Ada',
        preferred_language: 'de',
      });
      expect([listed.total, listed.items.map(({ id }) => id).sort()]).to.deep.equal([2, [first.id, second.id].sort()]);
      expect((await http.expect(200, 'GET', '/api/portal/participants?skip=1&limit=1')).items).to.deep.equal([
        listed.items[1],
      ]);
      const own = await (await enterPortal(root, other.id)).expect(200, 'GET', '/api/portal/participants');
      expect(own).to.deep.include({ caregiver: null, total: 1 });
      expect(own.items[0]).to.deep.include({ id: other.id, relationship: null });
      expect((await root.get('/api/portal/participants')).status).to.equal(401);
    });

    it('is said by header, else by query; contradictory 400, none of several 400, what is no id 422', async () => {
      const me = (path: string, headers: Record<string, string> = {}) => http.get(`/api/portal/me${path}`, { headers });
      expect((await me('', { 'X-Participant-ID': first.id.toUpperCase() })).body.id).to.equal(first.id);
      expect((await me(`?participant_id=${second.id}`)).body.id).to.equal(second.id);
      expect((await me(`?participant_id=${second.id}`, { 'X-Participant-ID': second.id })).body.id).to.equal(second.id);
      const conflict = await me(`?participant_id=${second.id}`, { 'X-Participant-ID': first.id });
      expect([conflict.status, conflict.body.code]).to.deep.equal([400, 'CONTEXT_CONFLICT']);
      const none = await me('');
      expect([none.status, none.body.code, none.body.errors.map(({ path, code }) => [path, code])]).to.deep.equal([
        400,
        'PARTICIPANT_REQUIRED',
        [['header.x-participant-id', 'PARTICIPANT_REQUIRED']],
      ]);
      expect((await me('', { 'X-Participant-ID': 'x' })).status).to.equal(422);
      for (const bad of ['x', '']) expect((await me(`?participant_id=${bad}`)).status, bad).to.equal(422);
      // Nobody named is not everybody, and not the one whom the header names.
      expect((await me('?participant_id=', { 'X-Participant-ID': first.id })).status).to.equal(422);
      const path = `/api/studies/${site.study.id}/participants/${first.id}/anchor-date`;
      expect((await http.post(path, { enrollment_date: '2024-03-10' }, about(second.id))).body.code).to.equal(
        'CONTEXT_CONFLICT',
      );
    });

    it('is checked of staff, too, where a portal token would do', async () => {
      const compiled = (more: string, headers: Record<string, string> = {}) =>
        root.get(`/api/batteries/${String(battery.id)}/compile${more}`, { headers });
      expect([
        (await compiled('?participant_id=x')).status,
        (await compiled('', { 'X-Participant-ID': 'x' })).status,
        (await compiled(`?participant_id=${strange.id}`)).status,
      ]).to.deep.equal([422, 422, 200]);
    });

    it('need not be said by who cares for one', async () => {
      const single = await enterAsCaregiver(root, site.study.id, (await caringFor([second])).id);
      expect((await single.expect(200, 'GET', '/api/portal/me')).id).to.equal(second.id);
      expect((await single.get('/api/portal/me', about(first.id))).status).to.equal(404);
    });
  });

  describe('every route that takes a portal token', () => {
    type Case = (person: Person) => [path: string, body?: unknown];
    const item = (person: Person) => site.item(unique('s'), { participantId: person.id, studyId: person.study_id });
    const cases: Record<string, Case> = {
      'GET /api/portal/me': () => ['/api/portal/me'],
      'GET /api/portal/visits': () => ['/api/portal/visits'],
      'GET /api/portal/data-status': () => ['/api/portal/data-status'],
      'GET /api/portal/overview': () => ['/api/portal/overview'],
      'POST /api/portal/calendar-feed': () => ['/api/portal/calendar-feed'],
      'GET /api/portal/calendar-feed': () => ['/api/portal/calendar-feed'],
      'DELETE /api/portal/calendar-feed': () => ['/api/portal/calendar-feed'],
      'GET /api/portal/results': () => ['/api/portal/results'],
      'GET /api/portal/timeline': () => ['/api/portal/timeline'],
      'GET /api/portal/preferences': () => ['/api/portal/preferences'],
      'PATCH /api/portal/preferences': () => ['/api/portal/preferences', { push: false }],
      'POST /api/notifications/register': () => [
        '/api/notifications/register',
        { platform: 'ios', token: unique('device') },
      ],
      'GET /api/batteries/{battery_id}/compile': () => [`/api/batteries/${String(battery.id)}/compile`],
      'POST /api/session/start': (person) => ['/api/session/start', { participant_id: person.id, language: 'en' }],
      'POST /api/sync/sessions': (person) => ['/api/sync/sessions', item(person)],
      'POST /api/sync/responses': () => [
        '/api/sync/responses',
        { id: unique('r'), sessionId: unique('s'), task: 'stroop', summary: { accuracy: 1 }, trials: [] },
      ],
      'POST /api/sync/bulk': (person) => ['/api/sync/bulk', { sessions: [item(person)], responses: [] }],
      'POST /api/sync/check-conflicts': (person) => [
        '/api/sync/check-conflicts',
        { sessions: [item(person)], responses: [] },
      ],
      'GET /api/studies/{study_id}/participants/{participant_id}/anchor-date': (person) => [
        `/api/studies/${person.study_id}/participants/${person.id}/anchor-date`,
      ],
      'POST /api/studies/{study_id}/participants/{participant_id}/anchor-date': (person) => [
        `/api/studies/${person.study_id}/participants/${person.id}/anchor-date`,
        { enrollment_date: '2024-03-10' },
      ],
    };
    const ask = (name: string, person: Person) => {
      const [path, body] = cases[name]!(person);
      return http.send(name.split(' ')[0]!, path, body, about(person.id));
    };

    it('is in this table', () => {
      const taken = Object.entries(contract.paths).flatMap(([path, methods]) =>
        Object.entries(methods)
          .filter(([, { 'x-permissions': may }]) => may?.roles.includes('caregiver'))
          .map(([method]) => `${method.toUpperCase()} ${path}`),
      );
      expect(taken.filter((name) => name !== 'GET /api/portal/participants').sort()).to.deep.equal(
        Object.keys(cases).sort(),
      );
    });

    for (const name of Object.keys(cases)) {
      it(`${name}: for its own participants, and never for another's`, async () => {
        for (const person of [first, second]) {
          const own = await ask(name, person);
          expect(own.status, own.text).to.be.oneOf([200, 201, 204]);
        }
        // What its own participants' requests set going is written down in the study of one of the two as well.
        const counted = async () =>
          (
            await owner.query(
              `select (select count(*) from audit_log a where study_id = any($1) and a::text like '%caregiver%' and (study_id = $3 or a::text like '%' || $4 || '%')) as n, (select count(*) from assessment_sessions where participant_id = any($2)) as s, (select count(*) from push_tokens where participant_id = any($2)) as t`,
              [[other.study_id, strange.study_id], [other.id, strange.id], strange.study_id, other.id],
            )
          ).rows;
        const before = await counted();
        for (const person of [other, strange]) {
          const refused = await ask(name, person);
          expect([refused.status, refused.text.includes(person.participant_code)], refused.text).to.deep.equal([
            404,
            false,
          ]);
        }
        expect(await counted()).to.deep.equal(before);
      });
    }

    it('names another in its body in vain', async () => {
      expect(
        (await http.post('/api/session/start', { participant_id: second.id, language: 'en' }, about(first.id))).status,
      ).to.equal(404);
      expect(
        (
          await http.post(
            '/api/notifications/register',
            { participant_id: other.id, platform: 'ios', token: 'x' },
            about(first.id),
          )
        ).status,
      ).to.equal(404);
      const sync = await http.expect<{ results: Loose[] }>(
        200,
        'POST',
        '/api/sync/bulk',
        { sessions: [item(other), item(second)], responses: [] },
        about(first.id),
      );
      expect(sync.results.map(({ code }) => code)).to.deep.equal(['UNKNOWN_PARTICIPANT', 'UNKNOWN_PARTICIPANT']);
    });

    it('shows the one that is named, and records the caregiver as who did it, the participant as whom it concerns', async () => {
      const visits = async (person: Person) =>
        (
          await http.expect<{ items: { name: string }[] }>(
            200,
            'GET',
            '/api/portal/visits',
            undefined,
            about(person.id),
          )
        ).items.map(({ name }) => name);
      expect(await visits(first))
        .to.include(`of ${first.participant_code}`)
        .and.not.include(`of ${second.participant_code}`);
      expect(await visits(second)).to.include(`of ${second.participant_code}`);
      const started = await http.expect(
        201,
        'POST',
        '/api/session/start',
        { participant_id: second.id, language: 'en' },
        about(second.id),
      );
      for (const [action, concerns] of [
        ['session_started', (record: Loose) => record.resource_id === started.sessionId],
        ['messages_opted_out', ({ resource_id }: Loose) => resource_id === first.id],
        ['push_token_registered', ({ resource_id }: Loose) => resource_id === first.id],
        ['manual_date_entered', ({ resource_id }: Loose) => resource_id === first.id],
        ['anchor_set', ({ resource_id }: Loose) => resource_id === first.id],
        ['offline_sync', () => true],
      ] as const) {
        const [record] = (await audited(action)).filter(concerns);
        expect(record, action).to.deep.include({ user_id: null });
        expect(record!.audit_metadata, action).to.deep.include({ actor_type: 'caregiver', caregiver_id: caregiver.id });
      }
      const history = await root.expect<Loose[]>(
        200,
        'GET',
        `/api/studies/${site.study.id}/participants/${first.id}/anchor-date/history`,
      );
      // The history's kinds of actors are the contract's: the date is the participant's, who said it stands in the
      // audit log.
      expect(history[0]).to.include({ actor_type: 'participant', actor_user_id: null });
      expect(await root.expect(200, 'GET', `/api/audit/verify?study_id=${site.study.id}`)).to.include({ valid: true });
      expect(
        (
          await http.expect<{ items: { title: string }[] }>(
            200,
            'GET',
            '/api/portal/timeline?kind=participant',
            undefined,
            about(first.id),
          )
        ).items[0]!.title,
      ).to.equal('Aufnahme in die Studie');
    });

    it('tells a story in words for who reads it: a caregiver without a language of its own reads the participant’s', async () => {
      const person = (await site.newParticipant({ preferred_language: 'en' })) as Person;
      const told = async (by: Http) =>
        (
          await by.expect<{ items: { title: string }[] }>(200, 'GET', '/api/portal/timeline?kind=participant')
        ).items.map(({ title }) => title);
      const by = await enterAsCaregiver(root, site.study.id, (await caringFor([person])).id);
      expect([await told(by), await told(await enterPortal(root, person.id))]).to.deep.equal([
        ['Joined the study'],
        ['You joined the study'],
      ]);
    });

    it('answers one key for one participant alone', async () => {
      const start = (person: Person) =>
        http.post<Loose>(
          '/api/notifications/register',
          { platform: 'ios', token: 'shared' },
          { headers: { 'X-Participant-ID': person.id, 'Idempotency-Key': 'same' } },
        );
      const [one, same, another] = [await start(first), await start(first), await start(second)];
      expect([same.body, same.headers.get('idempotent-replay')]).to.deep.equal([one.body, 'true']);
      expect([
        one.body.participant_id,
        another.body.participant_id,
        another.headers.get('idempotent-replay'),
      ]).to.deep.equal([first.id, second.id, null]);
    });

    it('is not opened by a participant’s token that names somebody else', async () => {
      const own = await enterPortal(root, other.id);
      expect((await own.get('/api/portal/me', about(first.id))).status).to.equal(404);
      expect((await own.expect(200, 'GET', '/api/portal/me', undefined, about(other.id))).id).to.equal(other.id);
    });
  });

  describe('a token', () => {
    const paths = ['/api/portal/me', '/api/portal/visits', '/api/portal/data-status', '/api/portal/participants'];
    const statuses = async (by: Http, headers = {}) => [
      ...new Set(await Promise.all(paths.map(async (path) => (await by.get(path, { headers })).status))),
    ];

    it('ends at once when the caregiver is set inactive, deleted, or has nobody left who takes part', async () => {
      const [gone, erased] = [await site.newParticipant(), await site.newParticipant()];
      const all = await Promise.all([[first], [first], [first], [gone], [erased]].map((people) => caringFor(people)));
      const callers = [];
      for (const one of all) callers.push(await enterAsCaregiver(root, site.study.id, one.id));
      for (const one of callers) expect(await statuses(one)).to.deep.equal([200]);
      await root.expect(200, 'PATCH', `${at}/${all[0]!.id}`, { status: 'inactive' });
      await root.expect(204, 'DELETE', `${at}/${all[1]!.id}`);
      await root.expect(204, 'DELETE', `${at}/${all[2]!.id}/participants/${first.id}`);
      await root.expect(200, 'POST', `/api/participants/${gone.id}/withdraw`, { reason: 'x' });
      await root.expect(200, 'POST', `/api/participants/${erased.id}/erase`, { reason: 'x' });
      for (const one of callers) expect(await statuses(one)).to.deep.equal([401]);
      const codes = await Promise.all(callers.map(async (one) => (await one.get('/api/portal/me')).body.code));
      const ended = 'INVALID_TOKEN';
      expect(codes).to.deep.equal([ended, ended, ended, 'PARTICIPANT_WITHDRAWN', ended]);
    });

    it('ended with the caregiver’s standing stays so when the caregiver is admitted again, also by one who was erased with whom it cared for; a new link opens', async () => {
      const erased = await site.newParticipant();
      for (const [person, end] of [
        [second, (of: Loose) => root.expect(200, 'PATCH', `${at}/${of.id}`, { status: 'inactive' })],
        [erased, () => root.expect(200, 'POST', `/api/participants/${erased.id}/erase`, { reason: 'x' })],
      ] as const) {
        const carer = await caringFor([person]);
        const before = await enterAsCaregiver(root, site.study.id, carer.id);
        await end(carer);
        await root.expect(200, 'PATCH', `${at}/${carer.id}`, { status: 'active' });
        await root.expect(200, 'PUT', `${at}/${carer.id}/participants/${second.id}`, { relationship: 'parent' });
        expect(await statuses(before)).to.deep.equal([401]);
        const refused = await before.get('/api/portal/me');
        expect(refused.body.code).to.equal('INVALID_TOKEN');
        expect(refused.body.detail).to.match(/portal token was ended\.$/);
        const after = await enterAsCaregiver(root, site.study.id, carer.id);
        await root.expect(200, 'PATCH', `${at}/${carer.id}`, { name: 'Renamed', status: 'active' });
        expect(await statuses(after)).to.deep.equal([200]);
      }
    });

    it('shows nothing more of one whom it no longer cares for, and its device is told nothing more of it', async () => {
      const [left, kept] = [(await site.newParticipant()) as Person, second];
      const both = await caringFor([left, kept]);
      const by = await enterAsCaregiver(root, site.study.id, both.id);
      await by.expect(201, 'POST', '/api/notifications/register', { platform: 'ios', token: 'phone' }, about(left.id));
      const phones = async (person: Loose) =>
        (await owner.query('select token from push_tokens where participant_id = $1', [person.id])).rows.map(
          ({ token }) => token as string,
        );
      expect(await phones(left)).to.deep.equal(['phone']);
      await root.expect(204, 'DELETE', `${at}/${both.id}/participants/${left.id}`);
      expect((await by.get('/api/portal/me', about(left.id))).status).to.equal(404);
      expect((await by.expect(200, 'GET', '/api/portal/me')).id).to.equal(kept.id);
      expect(await phones(left)).to.deep.equal([]);
      await by.expect(201, 'POST', '/api/notifications/register', { platform: 'ios', token: 'phone-2' });
      await root.expect(200, 'PATCH', `${at}/${both.id}`, { status: 'inactive' });
      expect(await phones(kept)).not.to.include('phone-2');
    });

    it('is good for nothing else, and staff see its messages with the caregiver', async () => {
      for (const [method, path, body] of [
        ['GET', '/api/auth/me'],
        ['GET', '/api/studies'],
        ['GET', at],
        ['GET', `/api/participants/${first.id}`],
        ['POST', '/api/portal/magic-link', { caregiver_id: caregiver.id, channel: 'email' }],
      ] as const) {
        expect((await http.send(method, path, body, about(first.id))).status, path).to.equal(401);
      }
      const path = `/api/notifications?study_id=${site.study.id}&kind=magic_link&limit=500`;
      const links = async () =>
        (await root.expect<{ items: Loose[] }>(200, 'GET', path)).items.filter(
          ({ caregiver_id }) => caregiver_id === caregiver.id,
        );
      // The mail arrives before it is written down as sent.
      await until(async () => (await links()).every(({ status }) => status === 'sent'), {
        what: 'the mail to be sent',
      });
      expect((await links()).map(({ status, participant_id }) => [status, participant_id])).to.deep.equal([
        ['sent', null],
      ]);
    });
  });
});
