import { expect } from 'chai';
import type pg from 'pg';
import type { Database } from '../../db/client/database.js';
import { openDatabase } from '../../db/client/knex.js';
import { seesEverything } from '../support/everything.js';
import { whileHeld } from '../support/held-row.js';
import { admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { imported, sendFile } from './stage.js';

describe('An import beside what others do', () => {
  let http: Http;
  let study: Loose;
  let other: pg.Client, owner: Database;
  before(async () => {
    http = await admin();
    other = await seesEverything();
    owner = openDatabase({
      url: (await service()).database_url,
      poolMax: 3,
      name: 'import-beside-others',
      asOwner: true,
    });
  });
  after(() => Promise.all([other.end(), owner.destroy()]));
  beforeEach(async () => {
    study = await newStudy(http);
  });
  /** Once a statement waits for the transaction of `other`. */
  const waitsForOther = () =>
    until(
      async () =>
        (await other.query('select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))'))
          .rowCount! > 0,
      { what: 'the import to wait for the other transaction' },
    );
  const everyone = async () =>
    new Map(
      (await http.expect<{ items: Loose[] }>(200, 'GET', `/api/studies/${study.id}/participants?limit=500`)).items.map(
        (one) => [one.participant_code, one],
      ),
    );

  it('puts participants to a missing site that another request makes at the same moment', async () => {
    await other.query('begin');
    await other.query('insert into sites (study_id, site_code) values ($1, $2)', [study.id, 'NEW']);
    const answer = imported(
      http,
      study.id,
      'participant_code,site_code\nP-1,NEW\nP-2,OLD\n',
      '?create_missing_sites=true',
    );
    await waitsForOther();
    await other.query('commit');
    expect(await answer).to.include({ success: true, imported_count: 2 });
    const found = await everyone();
    expect(['P-1', 'P-2'].map((code) => found.get(code)?.site_code)).to.deep.equal(['NEW', 'OLD']);
    const { items: sites } = await http.expect<{ items: Loose[] }>(200, 'GET', `/api/studies/${study.id}/sites`);
    expect(sites.map(({ site_code }) => site_code).sort()).to.deep.equal(['NEW', 'OLD']);
  });

  it('names the row whose new external_id is that of a participant whom its sender does not see', async () => {
    const [own, far] = await Promise.all(
      ['OWN', 'FAR'].map((site_code) =>
        http.expect<Loose>(201, 'POST', `/api/studies/${study.id}/sites`, { site_code }),
      ),
    );
    await newParticipant(http, study.id as string, { participant_code: 'F-1', external_id: 'R-1', site_id: far!.id });
    for (const participant_code of ['P-1', 'P-2'])
      await newParticipant(http, study.id as string, { participant_code, site_id: own!.id });
    const coordinator = await user(http, 'coordinator', {
      study_ids: [study.id as string],
      site_ids: [own!.id as string],
    });
    const text =
      'participant_code,external_id,preferred_language,site_code\nP-1,R-1,de,\nP-2,R-2,fr,\nP-3,R-3,en,OWN\n';
    for (const query of ['?mode=upsert&dry_run=true', '?mode=upsert']) {
      const { status, body } = await sendFile(coordinator, study.id as string, text, query);
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body).to.deep.include({ imported_count: 1, updated_count: 1, error_count: 1 });
      expect(body.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
        [2, 'external_id', 'DUPLICATE_EXTERNAL_ID'],
      ]);
    }
    const found = await everyone();
    expect(
      ['F-1', 'P-1', 'P-2', 'P-3'].map((code) => [found.get(code)?.external_id, found.get(code)?.preferred_language]),
    ).to.deep.equal([
      ['R-1', null],
      [null, null],
      ['R-2', 'fr'],
      ['R-3', 'en'],
    ]);
    const { rows } = await other.query(
      `select resource_id from audit_log where study_id = $1 and action = 'participant_changed'`,
      [study.id],
    );
    expect(rows.map(({ resource_id }) => resource_id)).to.deep.equal([found.get('P-2')?.id]);
  });

  it('changes who is enrolled by another request at the same moment, where its mode is upsert', async () => {
    await other.query('begin');
    await other.query(
      `with made as (insert into participants (study_id, participant_code, preferred_language)
         select $1, c, 'en' from unnest(array['P-1', 'P-3']) c returning id)
       insert into anchor_dates (participant_id, study_id) select id, $1 from made`,
      [study.id],
    );
    const answer = imported(
      http,
      study.id,
      'participant_code,preferred_language\nP-1,de\nP-2,de\nP-3,en\n',
      '?mode=upsert',
    );
    await waitsForOther();
    await other.query('commit');
    const { updated_participants, skipped_participants, ...counts } = await answer;
    expect(counts).to.include({ success: true, imported_count: 1, updated_count: 1, skipped_count: 1 });
    expect(updated_participants.map(({ row, fields }) => [row, fields])).to.deep.equal([[2, ['preferred_language']]]);
    expect(skipped_participants.map(({ row, reason }) => [row, reason])).to.deep.equal([[4, 'UNCHANGED']]);
    const found = await everyone();
    expect(['P-1', 'P-2', 'P-3'].map((code) => found.get(code)?.preferred_language)).to.deep.equal(['de', 'de', 'en']);
  });

  it('waits for another import of the study, whatever the order of their rows', async () => {
    const file = (...codes: string[]) =>
      `participant_code,preferred_language\n${codes.map((code) => `${code},de\n`).join('')}`;
    const [first, second] = await whileHeld(
      owner,
      ['insert into participants (study_id, participant_code) values (?, ?)', study.id, 'M'],
      () => imported(http, study.id, file('A', 'M', 'B'), '?mode=upsert'),
      () => imported(http, study.id, file('B', 'M', 'A'), '?mode=upsert'),
    );
    expect(first).to.include({ success: true, imported_count: 3 });
    expect(second).to.include({ success: true, imported_count: 0, updated_count: 0, skipped_count: 3 });
    expect([...(await everyone()).keys()].sort()).to.deep.equal(['A', 'B', 'M']);
  });

  it('of one user leaves connections to others: more of them at once are told to come again', async () => {
    const own = await user(http, 'data_manager', { study_ids: [study.id] });
    const send = (by: Http) => sendFile(by, study.id, 'participant_code\nQ-1\n', '?dry_run=true');
    await other.query('begin');
    await other.query('insert into participants (study_id, participant_code) values ($1, $2)', [study.id, 'Q-1']);
    const answered: Awaited<ReturnType<typeof send>>[] = [];
    const sent = Array.from({ length: 25 }, () => send(own).then((answer) => answered.push(answer)));
    try {
      await until(() => answered.length >= 15, { what: 'the ones too many to be answered' });
      for (const { status, body, headers } of answered) {
        expect([status, body.code]).to.deep.equal([429, 'QUOTA_EXCEEDED']);
        expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
      }
      expect((await http.get(`/api/studies/${study.id}/participants`)).status).to.equal(200);
    } finally {
      await other.query('rollback');
    }
    await Promise.all(sent);
    expect(answered.slice(15).map(({ status }) => status)).to.deep.equal(Array.from({ length: 10 }, () => 200));
    expect((await send(own)).status).to.equal(200);
  });
});
