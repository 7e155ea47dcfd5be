import { expect } from 'chai';
import { Http, admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { imported } from '../data/stage.js';

const PASSWORD = 'a long pass phrase 42';

describe('Names and codes that people type', function () {
  this.timeout(120_000);
  let http: Http;
  let study: Loose;
  let battery: Loose;
  let person: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
    battery = await http.expect(201, 'POST', '/api/batteries', { study_id: study.id, code: unique('B'), name: 'B' });
    person = await http.expect(201, 'POST', `/api/studies/${study.id}/participants`, {
      participant_code: unique('P'),
    });
  });

  /** Each place of a name: where it is sent, beside what, and what it is called there. */
  const places: [what: string, method: string, path: () => string, body: () => Loose | object, field: string][] = [
    ['a study', 'POST', () => '/api/studies', () => ({ study_code: unique('S') }), 'study_name'],
    ['a changed study', 'PATCH', () => `/api/studies/${study.id}`, () => ({}), 'study_name'],
    ['a site', 'POST', () => `/api/studies/${study.id}/sites`, () => ({ site_code: unique('C') }), 'name'],
    [
      'a window',
      'POST',
      () => '/api/schedules/windows',
      () => ({ study_id: study.id, code: unique('W'), target_day: 1 }),
      'name',
    ],
    ['a battery', 'POST', () => '/api/batteries', () => ({ study_id: study.id, code: unique('B') }), 'name'],
    ['a module', 'POST', () => `/api/batteries/${battery.id}/modules`, () => ({ task: 'stroop' }), 'name'],
    [
      'a visit',
      'POST',
      () => '/api/schedules/visits',
      () => ({
        participant_id: person.id,
        target_date: '2026-01-02',
        window_open: '2026-01-01',
        window_close: '2026-01-03',
      }),
      'name',
    ],
    [
      'an event',
      'POST',
      () => `/api/studies/${study.id}/event-definitions`,
      () => ({ event_oid: unique('E'), target_day: 1 }),
      'name',
    ],
    ['a calendar', 'POST', () => `/api/studies/${study.id}/holiday-calendars`, () => ({ holidays: [] }), 'name'],
    [
      'a user',
      'POST',
      () => '/api/auth/register',
      () => ({ email: `${unique('u')}@example.org`, password: PASSWORD, role: 'coordinator' }),
      'name',
    ],
    ['an arm', 'PATCH', () => `/api/participants/${person.id}`, () => ({}), 'arm'],
    ['a caregiver', 'POST', () => `/api/studies/${study.id}/caregivers`, () => ({}), 'name'],
  ];
  for (const [what, method, path, body, field] of places)
    it(`${what}: a name of nothing to see, or of several lines, is refused by its field; blanks around it are cut off`, async () => {
      for (const [value, code] of [
        ['   ', 'BLANK'],
        ['\u00a0\u2003', 'BLANK'],
        ['\u200b\u2060', 'BLANK'],
        ['\u202e\u2066\ufeff', 'BLANK'],
        ['a\u0007b', 'PATTERN'],
        ['a\nb', 'PATTERN'],
      ]) {
        const { status, body: answer } = await http.send<{ errors?: { path: string; code: string }[] }>(
          method,
          path(),
          { ...body(), [field]: value },
        );
        expect([status, answer.errors?.map((fault) => [fault.path, fault.code])], JSON.stringify(value)).to.deep.equal([
          422,
          [[field, code]],
        ]);
      }
      const { status, body: made } = await http.send<Record<string, unknown>>(method, path(), {
        ...body(),
        [field]: '\u2003 Ce\u0301cile  B. ',
      });
      expect(status, JSON.stringify(made)).to.be.oneOf([200, 201]);
      // A module is answered with its battery.
      const record = what === 'a module' ? ((made['modules'] as Loose[] | undefined)?.at(-1) ?? made) : made;
      expect(record[field]).to.equal('C\u00e9cile  B.');
    });

  it('a code with composed letters and one with decomposed letters is the same: unique, found, started by either', async () => {
    const code = unique('Zoe');
    const [composed, decomposed] = [`${code}\u00eb`, `${code}e\u0308`];
    const path = `/api/studies/${study.id}/participants`;
    const made = await http.expect(201, 'POST', path, { participant_code: decomposed });
    expect(made['participant_code']).to.equal(composed);
    expect((await http.send('POST', path, { participant_code: composed })).status).to.equal(409);
    const result = await imported(http, study.id, `participant_code\n${composed}\n${decomposed}\n`);
    expect(result).to.include({ imported_count: 0, skipped_count: 2 });
    const found = await http.expect<{ total: number }>(200, 'GET', `${path}?search=${encodeURIComponent(decomposed)}`);
    expect(found.total).to.equal(1);
    await http.expect(201, 'POST', '/api/session/start', {
      participant_id: decomposed,
      study_id: study.id,
      language: 'en',
    });
    for (const [body, field] of [
      [{ participant_code: '\u200b\u2060' }, 'participant_code'],
      [{ participant_code: unique('P'), external_id: 'a\u0007b' }, 'external_id'],
      [{ participant_code: unique('P'), external_id: '\u200b' }, 'external_id'],
      [{ participant_code: unique('P'), external_id: 'R\u202e5' }, 'external_id'],
    ] as const) {
      const refused = await http.send<{ errors: { path: string }[] }>('POST', path, body);
      expect([refused.status, refused.body.errors.map((fault) => fault.path)]).to.deep.equal([422, [field]]);
    }
    // Marks that nobody sees would make two codes of one.
    for (const mark of ['\u202e', '\u200b', '\u2066', '\u00ad', '\ufeff']) {
      for (const given of [`${mark}${code}`, `${code.slice(0, 3)}${mark}${code.slice(3)}`, `${code}${mark}`]) {
        const refused = await http.send<{ errors: { path: string; code: string }[] }>('POST', path, {
          participant_code: given,
        });
        expect(
          [refused.status, refused.body.errors?.map((f) => [f.path, f.code])],
          JSON.stringify(given),
        ).to.deep.equal([422, [['participant_code', 'PATTERN']]]);
        // Of a cell, blanks around it and a byte order mark are cut off.
        if (given.trim() !== given) continue;
        const file = await imported(http, study.id, `participant_code,external_id\n${given},x\n`);
        expect(file.imported_count, JSON.stringify(given)).to.equal(0);
      }
    }
    // Some scripts write with joiners.
    await http.expect(201, 'POST', path, { participant_code: `${code}\u0645\u06cc\u200c\u062e` });
    const { token } = await http.expect<Loose & { token: string }>(201, 'POST', '/api/v1/tokens', {
      name: 'authoring',
      scopes: ['authoring:write'],
      study_ids: [study.id],
      expires_in_days: 1,
    });
    const author = new Http(http.base, token);
    const put = async (given: string) =>
      (await author.send('PUT', `/api/v1/studies/${study.id}/batteries/${encodeURIComponent(given)}`, { name: 'B' }))
        .status;
    expect([await put(decomposed), await put(composed), await put('\u200b')]).to.deep.equal([201, 200, 422]);
    const sites = `/api/studies/${study.id}/sites`;
    await http.expect(201, 'POST', sites, { site_code: composed });
    expect((await http.send('POST', sites, { site_code: decomposed })).status).to.equal(409);
  });

  it('an external id is one person, with composed and decomposed letters, by hand and by an import', async () => {
    const { id } = await newStudy(http);
    const path = `/api/studies/${id}/participants`;
    const [composed, decomposed] = ['Zo\u00eb-1', 'Zoe\u0308-1'];
    const first = await newParticipant(http, id, { external_id: decomposed });
    expect(first.external_id).to.equal(composed);
    for (const external_id of [composed, decomposed]) {
      const { status, body } = await http.post(path, { participant_code: unique('P'), external_id });
      expect([status, body.code]).to.deep.equal([409, 'DUPLICATE_EXTERNAL_ID']);
    }
    const [a, b] = [unique('A'), unique('B')];
    const rows = [`${unique('C')},${decomposed}`, `${a},Ren\u00e9`, `${b},Rene\u0301`];
    const file = await imported(http, id, `participant_code,external_id\n${rows.join('\n')}\n`);
    expect([file.imported_count, file.errors.map(({ row, code }) => [row, code])]).to.deep.equal([
      1,
      [
        [2, 'DUPLICATE_EXTERNAL_ID'],
        [4, 'DUPLICATE_EXTERNAL_ID'],
      ],
    ]);
    const again = await imported(http, id, `participant_code,external_id\n${a},Rene\u0301\n`, '?mode=upsert');
    expect([again.updated_count, again.skipped_count]).to.deep.equal([0, 1]);
  });

  it('of arms and forms are found, and read by a policy, with composed and decomposed letters', async () => {
    const [composed, decomposed] = ['Zo\u00eb', 'Zoe\u0308'];
    const { id } = await newStudy(http);
    const person = await newParticipant(http, id, { arm: decomposed });
    await http.expect(201, 'POST', `/api/studies/${id}/participants/${person.id}/forms`, { form_oid: ` ${composed} ` });
    const given = encodeURIComponent(decomposed);
    const report = await http.expect(200, 'GET', `/api/reports/studies/${id}/enrollment?arm=${given}`);
    const forms = `/api/studies/${id}/participants/${person.id}/forms?form_oid=${given}`;
    expect([report.total, (await http.expect(200, 'GET', forms)).total]).to.deep.equal([1, 1]);
    const source = { type: 'form_item', form_mapping: { form_oid: `${decomposed} `, item_oid: 'DATE' } };
    const policy = await http.expect(200, 'POST', `/api/studies/${id}/config/enrollment-policy`, { sources: [source] });
    expect(JSON.stringify(policy.sources)).to.contain(`"form_oid":"${composed}"`);
  });

  it('are found in any case, whatever the alphabet', async () => {
    const word = unique('').slice(1);
    const named = `Étude Жизнь ${word}`;
    const { id } = await newStudy(http, { study_name: named });
    await newParticipant(http, id, { participant_code: named });
    await http.expect(201, 'POST', `/api/studies/${id}/caregivers`, { name: named });
    await http.expect(201, 'POST', '/api/users/invite', {
      email: `${word}@example.org`,
      name: named,
      role: 'coordinator',
    });
    for (const list of [
      '/api/studies?',
      `/api/studies/${id}/participants?`,
      `/api/studies/${id}/caregivers?`,
      '/api/users?',
    ])
      for (const search of [named, named.toLowerCase(), named.toUpperCase(), named.normalize('NFD').toLowerCase()]) {
        const { total } = await http.expect(200, 'GET', `${list}search=${encodeURIComponent(search)}`);
        expect(total, `${list} ${search}`).to.equal(1);
      }
  });
});
