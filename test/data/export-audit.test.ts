import { expect } from 'chai';
import { Site } from '../assessment/stage.js';
import type { Loose } from '../support/http.js';

interface Row {
  resource_type: string;
  resource_id: string | null;
}

/** The log names a participant by its own id, and a consent, a form or a visit of it by theirs. */
describe('An audit export of some participants', () => {
  let site: Site;
  const home: Record<string, Loose> = {};
  const people: Record<string, Loose> = {};
  /** Of each site's participant: what was recorded, as the log names it. */
  const kept: Record<string, Row[]> = {};

  before(async function fill() {
    this.timeout(120_000);
    site = await Site.open({ consent_mode: 'econsent' });
    for (const site_code of ['BER', 'NYC']) {
      home[site_code] = await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, { site_code });
      const { id } = (people[site_code] = await site.newParticipant({ site_code }));
      const of = `/api/studies/${site.study.id}/participants/${id}`;
      const made = async (resource_type: string, method: string, path: string, body: object): Promise<Row> => ({
        resource_type,
        resource_id: (await site.http.expect(method === 'PUT' ? 200 : 201, method, path, body)).id,
      });
      const visit = await site.visit({ participant_id: id });
      const session = await site.session({ participant_id: id, visit_id: visit.id });
      await site.end(session);
      kept[site_code] = [
        { resource_type: 'participant', resource_id: id },
        { resource_type: 'visit', resource_id: visit.id },
        { resource_type: 'session', resource_id: session },
        await made('consent', 'POST', `${of}/consents`, { status: 'pending' }),
        await made('form', 'POST', `${of}/forms`, { form_oid: 'F', items: { a: 1 } }),
        await made('eligibility', 'PUT', `${of}/eligibility`, { status: 'pending' }),
      ];
    }
  });

  const exported = async (more: object = {}, headers: Record<string, string> = {}): Promise<Row[]> => {
    const asked = { study_id: site.study.id, dataset: 'audit', ...more };
    const { rows } = await site.http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', asked, { headers });
    return rows.map(({ resource_type, resource_id }) => ({ resource_type, resource_id }));
  };

  /** Everything of BER's participant, and nothing of another or of the study. */
  function expectBerlin(rows: Row[], what: string): void {
    expect(rows, what).to.deep.include.members(kept.BER!);
    const others = new Set(kept.NYC!.map(({ resource_id }) => resource_id));
    expect(
      rows.filter(({ resource_id }) => others.has(resource_id)),
      what,
    ).to.deep.equal([]);
    expect(
      rows.map(({ resource_type }) => resource_type),
      what,
    ).not.to.include.members(['study']);
  }

  it('has the records of their consents, forms, visits and sessions, not only those of the participant', async () => {
    expectBerlin(await exported({ participant_ids: [people.BER!.id] }), 'by participant');
    expectBerlin(await exported({ site_code: 'BER' }), 'by site');
  });

  it('has them too where the request is narrowed to a site', async () => {
    const here = { 'X-Site-ID': home.BER!.id };
    expectBerlin(await exported({}, here), 'of the site');
    expect(await exported({ participant_ids: [people.NYC!.id] }, here)).to.deep.equal([]);
  });

  it('has as many rows in each format, and without a filter the whole chain', async () => {
    const whole = await exported();
    expect(whole).to.deep.include.members([...kept.BER!, ...kept.NYC!]);
    expect(whole.map(({ resource_type }) => resource_type)).to.include('study');
    const asked = { study_id: site.study.id, dataset: 'audit', participant_ids: [people.BER!.id] };
    const { text } = await site.http.post('/api/exports/csv', asked);
    expect(text.trimEnd().split('\n')).to.have.length((await exported(asked)).length + 1);
  });
});
