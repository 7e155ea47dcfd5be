import { expect } from 'chai';
import { imported } from '../data/stage.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { mapParticipant } from '../../workflows/domain/capture/participant.js';

describe('Dates that were mistyped', function suite() {
  this.timeout(120_000);
  let http: Http, study: Loose, person: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
    person = await newParticipant(http, study.id);
  });
  const path = () => `/api/studies/${study.id}/participants`;
  const visit = () =>
    http.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: person.id,
      name: 'V',
      target_date: '2026-01-05',
    });
  const faults = ({ status, body }: { status: number; body: Loose }) => [
    status,
    body.errors?.map((fault) => [fault.path, fault.code]),
  ];

  it('a year before the birth of all participants is refused by its field, and nothing changes', async () => {
    const open = await visit();
    for (const at of ['1899-12-31T23:59:59.999Z', '0206-01-05T10:00:00Z', '0026-01-05T10:00:00+02:00']) {
      const of = `${path()}/${person.id}`;
      for (const [field, answer] of [
        ['completed_at', await http.post(`/api/visits/${open.id}/complete`, { completed_at: at })],
        ['withdrawn_at', await http.post(`/api/participants/${person.id}/withdraw`, { reason: 'r', withdrawn_at: at })],
        ['signed_at', await http.post(`${of}/consents`, { status: 'signed', signed_at: at })],
        ['revoked_at', await http.post(`${of}/consents`, { status: 'revoked', revoked_at: at })],
        ['randomized_at', await http.post(`${of}/randomization`, { arm: 'A', randomized_at: at })],
        ['confirmed_at', await http.put(`${of}/eligibility`, { status: 'eligible', confirmed_at: at })],
      ] as const)
        expect(faults(answer), `${field} ${at}`).to.deep.equal([400, [[field, 'OUT_OF_RANGE']]]);
    }
    expect((await http.get(`/api/visits/${open.id}`)).body.completed_at).to.equal(null);
    expect((await http.get(`/api/participants/${person.id}`)).body.status).to.equal('enrolled');
    expect((await http.get(`${path()}/${person.id}/consents`)).body.total).to.equal(0);
  });

  it('so are days of a study and the target of a visit', async () => {
    for (const field of ['start_date', 'end_date']) {
      const change = { [field]: '0026-01-05' };
      const fresh = { study_code: unique('S'), study_name: 'S', ...change };
      expect(faults(await http.post('/api/studies', fresh))).to.deep.equal([400, [[field, 'OUT_OF_RANGE']]]);
      expect(faults(await http.patch(`/api/studies/${study.id}`, change))).to.deep.equal([
        400,
        [[field, 'OUT_OF_RANGE']],
      ]);
    }
    const days = (day: string) => ({ target_date: day, window_open: day, window_close: day });
    const refused = [400, [['target_date', 'OUT_OF_RANGE']]];
    const given = { participant_id: person.id, name: 'V' };
    expect(faults(await http.post('/api/schedules/visits', { ...given, ...days('0206-01-05') }))).to.deep.equal(
      refused,
    );
    const { id } = await visit();
    expect(faults(await http.patch(`/api/visits/${id}`, days('1026-01-05')))).to.deep.equal(refused);
    await http.expect(200, 'PATCH', `/api/visits/${id}`, days('1900-01-01'));
    await http.expect(200, 'PATCH', `/api/visits/${id}`, { name: 'W' });
  });

  it('a record of the capture system is taken without such a date of birth', () => {
    const read = (dob: string) => mapParticipant({ dob }, { date_of_birth: 'dob' }, new Set());
    expect(read('0065-05-01')).to.deep.equal({ values: {}, dropped: ['date_of_birth'] });
    expect(read('1965-05-01')).to.deep.equal({ values: { date_of_birth: '1965-05-01' }, dropped: [] });
  });

  it('a date of birth is refused likewise, here and in a file; the rows beside it are taken', async () => {
    const born = (date_of_birth: string) => ({ participant_code: unique(), date_of_birth });
    for (const day of ['1899-12-31', '0065-05-01'])
      expect(faults(await http.post(path(), born(day))), day).to.deep.equal([400, [['date_of_birth', 'OUT_OF_RANGE']]]);
    await http.expect(201, 'POST', path(), born('1900-01-01'));
    const result = await imported(
      http,
      study.id,
      `participant_code,date_of_birth\n${unique()},0065-05-01\n${unique()},1965-05-01\n`,
    );
    expect([result.imported_count, result.errors.map(({ row, field, code }) => [row, field, code])]).to.deep.equal([
      1,
      [[2, 'date_of_birth', 'OUT_OF_RANGE']],
    ]);
  });

  it('a given revocation before the signature is refused; one of now is always possible', async () => {
    const consents = `${path()}/${person.id}/consents`;
    const [signed_at, earlier] = ['2026-05-01T10:00:00Z', '2026-05-01T09:59:59Z'];
    const refused = [400, [['revoked_at', 'REVOKED_BEFORE_SIGNED']]];
    expect(faults(await http.post(consents, { status: 'revoked', signed_at, revoked_at: earlier }))).to.deep.equal(
      refused,
    );
    const { id } = await http.expect(201, 'POST', consents, { status: 'signed', signed_at });
    expect(faults(await http.patch(`${consents}/${id}`, { status: 'revoked', revoked_at: earlier }))).to.deep.equal(
      refused,
    );
    expect((await http.get(`${consents}`)).body.items[0]!.status).to.equal('signed');
    await http.expect(200, 'PATCH', `${consents}/${id}`, { status: 'revoked', revoked_at: signed_at });
    const ahead = await http.expect(201, 'POST', consents, { status: 'signed', signed_at: '2062-05-01T10:00:00Z' });
    await http.expect(200, 'PATCH', `${consents}/${ahead.id}`, { status: 'revoked' });
  });

  it('offsets without minutes, and blanks of any kind, are read as the others', async () => {
    for (const [given, shown] of [
      ['2026-01-05T10:00:00+02', '2026-01-05T08:00:00.000Z'],
      ['2026-01-05 10:00:00.5-03', '2026-01-05T13:00:00.500Z'],
      ['2026-01-05T10:00:00+20', '2026-01-04T14:00:00.000Z'],
      ['2026-01-05T10:00:00-2330', '2026-01-06T09:30:00.000Z'],
      ['2026-01-05\u00a010:00:00z', '2026-01-05T10:00:00.000Z'],
    ] as const) {
      const open = await visit();
      const done = await http.expect(200, 'POST', `/api/visits/${open.id}/complete`, { completed_at: given });
      expect(done.completed_at, given).to.equal(shown);
      const past = await http.get(`${path()}/${person.id}/anchor-date?as_of=${encodeURIComponent(given)}`);
      expect(past.status, `${given}: ${past.text}`).to.equal(404);
    }
  });
});
