import { expect } from 'chai';
import { AnchorStudy, DAY, Stage } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import { Http, unique } from '../support/http.js';
import { until } from '../support/until.js';
import { portalSession } from '../../api/http/security/portal.js';
import type { Settings } from '../../settings.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Item {
  at: string;
  kind: string;
  title: string;
  data: Record<string, unknown>;
  links: { api: string; temporal: string | null };
}
interface Page {
  items: Item[];
  total: number;
}

describe('The timeline of a participant', function timelineTests() {
  let stage: Stage;
  let study: AnchorStudy;
  let person: Person;
  let path: string;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(
      {
        permissions: {
          can_override: ['researcher', 'admin'],
          override_requires_approval: true,
          override_approver_roles: ['admin'],
        },
      },
      { days: [0, 30, 60] },
    );
    person = await study.person({ email: `${unique()}@example.org`, preferred_language: 'de-AT' });
    path = `${person.path}/timeline`;
    await person.consent('2024-03-01T09:00:00Z', { consent_version_id: 'v1' });
    await person.eligible('2024-03-02T09:00:00Z');
    await person.becomes({ status: 'finalized' });
    const [first] = await person.standing();
    await person.complete(first!.id);
    const asked = await person.override(DAY, await study.as('researcher'));
    expect(asked.status, asked.text).to.equal(202);
    expect((await person.decide(asked.body.override_request_id, 'approve', stage.admin)).status).to.equal(200);
    await stage.admin.expect(202, 'POST', '/api/portal/magic-link', { participant_id: person.id, channel: 'email' });
    await until(
      async () =>
        (
          await stage.sql(
            `select 1 from notifications where participant_id = ? and status = 'sent' and kind = 'magic_link'`,
            [person.id],
          )
        ).length === 1,
      { what: 'the message to be sent' },
    );
  });
  after(() => stage.close());

  const portalTokenOf = ({ id }: { id: string }): string => {
    const keys = (name: string) => readFileSync(join(stage.run.data_dir, 'keys', name), 'utf8').trim();
    return portalSession(
      {
        JWT_SECRET: keys('JWT_SECRET'),
        SESSION_SECRET: keys('SESSION_SECRET'),
        ACCESS_TOKEN_MINUTES: 5,
        PUBLIC_URL: undefined,
      } as unknown as Settings,
      { kind: 'participant', id },
    ).token;
  };
  const read = (query = '', by: Http = stage.admin): Promise<Page> =>
    by.expect<Page>(200, 'GET', `${path}?limit=500${query}`);

  it('tells everything in the order in which it happened, cause before effect', async () => {
    const { items, total } = await read();
    expect(total).to.equal(items.length);
    // Instants have three to six digits: as texts of one length they are in the order of time.
    const times = items.map(({ at }) => at.slice(0, -1).padEnd(26, '0'));
    expect(times).to.deep.equal([...times].sort());
    for (const kind of ['participant', 'consent', 'eligibility', 'approval', 'anchor', 'schedule', 'visit', 'reminder'])
      expect(
        items.some((item) => item.kind === kind),
        kind,
      ).to.equal(true);
    const story = items
      .filter(({ kind }) => ['anchor', 'schedule', 'approval'].includes(kind))
      .map(({ title }) => title);
    const places = [
      'Enrollment date set to 2024-03-01',
      'Schedule version 1 made',
      'Override to 2024-03-10 requested',
      'Override to 2024-03-10 approved',
      'Enrollment date overridden: from 2024-03-01 to 2024-03-10, 9 days later',
      'Schedule version 2 made from 2024-03-10',
    ].map((beginning) => story.findIndex((title) => title.startsWith(beginning)));
    expect(
      places.every((place, i) => place > -1 && (i === 0 || place > places[i - 1]!)),
      JSON.stringify(story),
    ).to.equal(true);
    const visits = items.filter(({ kind }) => kind === 'visit');
    expect(visits).to.have.length(3);
    expect(visits.filter(({ data }) => data.what === 'completed')).to.have.length(1);
    // Their windows closed years ago: nothing of them is to come, whether or not the hourly job has been there.
    expect(visits.filter(({ data }) => data.planned === true)).to.deep.equal([]);
    expect(visits.filter(({ data }) => data.status === 'missed').map(({ at }) => at.slice(0, 10))).to.deep.equal([
      '2024-04-13',
      '2024-05-13',
    ]);
  });

  it('every instant has a Z, inside of the data too', async () => {
    const instants = (await read()).items.flatMap(({ at, data }) => [
      at,
      ...Object.entries(data)
        .filter(([name, value]) => name.endsWith('_at') && value !== null)
        .map(([, value]) => value),
    ]);
    expect(instants.length).to.be.greaterThan((await read()).items.length);
    for (const instant of instants) expect(instant).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/);
  });

  it('links each entry to what answers in the API, and to the workflow behind it', async () => {
    const { items } = await read();
    for (const { kind, links } of items.filter((item) => item.kind !== 'reminder')) {
      expect((await stage.admin.get(links.api)).status, `${kind} ${links.api}`).to.equal(200);
    }
    const anchor = items.find(({ kind }) => kind === 'anchor')!;
    expect(anchor.links.temporal).to.equal(
      `${stage.run.temporal_ui}/namespaces/${stage.run.temporal_namespace}/workflows/${encodeURIComponent(`participant-anchor/${person.id}`)}`,
    );
  });

  it('is filtered by kind and time, and paged without a gap or a repetition', async () => {
    const all = await read();
    const some = await read('&kind=anchor,schedule');
    expect(new Set(some.items.map(({ kind }) => kind))).to.deep.equal(new Set(['anchor', 'schedule']));
    expect(some.total).to.equal(all.items.filter(({ kind }) => kind === 'anchor' || kind === 'schedule').length);
    const early = await read('&from=2024-03-01T00:00:00Z&to=2024-03-02T09:00:00Z');
    expect(early.items.map(({ kind, title }) => [kind, title])).to.deep.equal([['consent', 'Consent signed (v1)']]);
    expect((await stage.admin.get(`${path}?kind=consent&format=html`)).text).to.include('1 entry, as of');
    const paged: Item[] = [];
    for (let skip = 0; skip < all.total; skip += 4)
      paged.push(...(await stage.admin.expect<Page>(200, 'GET', `${path}?skip=${skip}&limit=4`)).items);
    expect(paged).to.deep.equal(all.items);
    expect(await read(`&skip=${all.total}`)).to.deep.equal({ items: [], total: all.total });
    const days = await read('&from=2024-03-01&to=2024-03-02');
    expect(days).to.deep.equal(await read('&from=2024-03-01T00:00:00Z&to=2024-03-03T00:00:00Z'));
    for (const wrong of ['kind=nothing', 'format=pdf', 'from=yesterday', 'limit=0'])
      expect((await stage.admin.get(`${path}?${wrong}`)).status, wrong).to.equal(422);
  });

  it('holds no address, name or birth date', async () => {
    expect(JSON.stringify(await read())).not.to.include('@example.org');
  });

  it('is the same as a picture and as a page that load nothing', async () => {
    const { items } = await read();
    const svg = await stage.admin.get(`${path}?format=svg`);
    expect(svg.headers.get('content-type')).to.equal('image/svg+xml; charset=utf-8');
    for (const title of items.filter(({ data }) => data.what !== 'cancelled').map((item) => item.title))
      expect(svg.text).to.include(title.replaceAll('&', '&amp;'));
    expect(svg.text)
      .to.match(/^<svg [^>]*role="img"/)
      .and.include('<desc')
      .and.not.match(/https?:\/\/(?!www\.w3\.org)/);
    for (const options of [
      { query: '?format=html', headers: {} },
      { query: '', headers: { Accept: 'text/html,application/xhtml+xml' } },
    ]) {
      const page = await stage.admin.get(`${path}${options.query}`, {
        headers: options.headers as Record<string, string>,
      });
      expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy'))
        .to.include("default-src 'none'")
        .and.include("style-src 'sha256-");
      expect(page.text.match(/<tr(?: class="planned")?><td/g)).to.have.length(items.length);
      expect(page.text).to.not.include('<script').and.not.include('src=');
    }
    expect(
      (await stage.admin.get(path, { headers: { Accept: 'image/svg+xml' } })).headers.get('content-type'),
    ).to.equal('image/svg+xml; charset=utf-8');
  });

  it('is German as a page and as a picture for whom the browser says so, also what people and systems did', async () => {
    const { items } = await read();
    for (const [accepted, language] of [
      ['de-AT,en;q=0.5', 'de'],
      ['it, de;q=0.8, en;q=0.5', 'de'],
      ['en-GB, de', 'en'],
      ['it', 'en'],
    ] as const)
      for (const format of ['html', 'svg']) {
        const { text, headers } = await stage.admin.get(`${path}?format=${format}`, {
          headers: { 'Accept-Language': accepted },
        });
        expect(headers.get('vary'), accepted).to.include('Accept-Language');
        expect(text.includes('Zeitleiste von'), `${accepted} ${format}`).to.equal(language === 'de');
        expect(text.includes('Timeline of'), `${accepted} ${format}`).to.equal(language === 'en');
        if (format === 'html') expect(text).to.include(`<html lang="${language}"`);
        // The words of the other language are in none of its entries.
        const english = items.filter(({ title }) => text.includes(title.replaceAll('&', '&amp;'))).length;
        expect(english, `${accepted} ${format}`).to.equal(language === 'de' ? 0 : english);
        if (language === 'de') expect(text).to.include('Einschlussdatum').and.include('Einwilligung unterschrieben');
      }
    // The list itself is for programs: one language.
    const german = await stage.admin.get(path, { headers: { Accept: 'application/json', 'Accept-Language': 'de' } });
    expect(german.body).to.deep.equal((await stage.admin.get(path)).body);
  });

  it('comes in the form that Accept weighs most', async () => {
    for (const [accept, type] of [
      ['application/json;q=0.1, image/svg+xml', 'image/svg+xml'],
      ['application/json;q=0.5, text/html;q=0.9, image/svg+xml;q=0.7', 'text/html'],
      ['text/html;q=0, image/svg+xml;q=0, */*', 'application/json'],
      ['image/*', 'image/svg+xml'],
      ['application/json, text/plain, */*', 'application/json'],
      ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', 'text/html'],
      ['*/*', 'application/json'],
    ] as const) {
      const { headers } = await stage.admin.get(path, { headers: { Accept: accept } });
      expect(headers.get('content-type'), accept).to.equal(`${type}; charset=utf-8`);
    }
  });

  it('escapes what people have written', async () => {
    const other = await study.person({ participant_code: `<b>&"${unique()}` });
    const page = await stage.admin.get(`${other.path}/timeline?format=html`);
    expect(page.text).to.include('&lt;b>&amp;&quot;');
    expect(page.text).to.not.include('<b>');
  });

  it('is read by every role of the study, and by nobody else', async () => {
    for (const role of ['researcher', 'coordinator', 'investigator', 'data_manager'] as const)
      expect((await read('', await study.as(role))).total).to.be.greaterThan(5);
    const stranger = await (await stage.study({}, { days: [] })).as('researcher');
    expect((await stranger.get(path)).status).to.equal(404);
    expect((await new Http(stage.run.api).get(path)).status).to.equal(401);
  });

  it('is told to the participant in its own language, reduced to what concerns it', async () => {
    const token = portalTokenOf(person);
    const own = await new Http(stage.run.api, token).expect<Page>(200, 'GET', '/api/portal/timeline?limit=500');
    expect(new Set(own.items.map(({ kind }) => kind))).to.deep.equal(
      new Set(['participant', 'consent', 'visit', 'reminder']),
    );
    expect(own.items.map(({ title }) => title))
      .to.include('Einwilligung unterschrieben')
      .and.include('Day 0: erledigt')
      .and.include('Nachricht an Sie gesendet');
    for (const item of own.items) expect(Object.keys(item)).to.deep.equal(['at', 'kind', 'title', 'data']);
    expect((await new Http(stage.run.api, token).get(path)).status).to.equal(401);
    expect((await stage.admin.get('/api/portal/timeline')).status).to.equal(401);
  });

  it('has a word for each of its entries, in the study’s default language where the participant has none', async () => {
    const here = await stage.study({}, { days: [], fields: { config: { notifications: { default_language: 'de' } } } });
    const back = await here.person();
    await back.withdraw();
    await stage.admin.expect(200, 'POST', `/api/participants/${back.id}/reinstate`, { reason: 'by mistake' });
    const portal = new Http(stage.run.api, portalTokenOf(back));
    const { items } = await portal.expect<Page>(200, 'GET', '/api/portal/timeline?kind=participant');
    expect(items.map(({ title }) => title)).to.deep.equal([
      'Aufnahme in die Studie',
      'Ausscheiden aus der Studie',
      'Wiederaufnahme in die Studie',
    ]);
  });

  it('a session whose time is over has expired, as it has in lists, before the sweep stores it', async () => {
    const one = await study.person();
    const { sessionId } = await stage.admin.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', {
      participant_id: one.id,
      language: 'en',
    });
    await stage.sql(`update assessment_sessions set expires_at = now() - interval '1 second' where id = ?`, [
      sessionId,
    ]);
    const { items } = await stage.admin.expect<Page>(200, 'GET', `${one.path}/timeline?kind=session`);
    expect(items.map(({ title, data }) => [title, data.status])).to.deep.equal([
      ['Assessment session expired', 'expired'],
    ]);
  });
});
