import { existsSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { exportFile } from '../../db/exports/files.js';
import { exportedTables } from '../../db/participants/erasure.queries.js';
import { Http, admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { placesOf } from '../support/places-of.js';

describe('Erasure of a participant', function suite() {
  const secret = unique('zora').replace('-', '');
  let root: Http;
  let study: Loose;
  let owner: pg.Client;

  before(async () => {
    root = await admin();
    study = await newStudy(root, { consent_mode: 'external' });
    // A policy that reads an item which turns out to hold a name: decisions then quote it.
    await root.expect(200, 'POST', `/api/studies/${study.id}/config/enrollment-policy`, {
      sources: [
        {
          type: 'form_item',
          priority: 1,
          is_active: true,
          form_mapping: { form_oid: 'CONTACT', item_oid: 'nickname', partial_date_handling: 'reject' },
        },
        { type: 'manual_entry', priority: 2, is_active: true },
      ],
    });
    owner = new pg.Client({ connectionString: (await service()).database_url });
    await owner.connect();
  });
  after(() => owner.end());

  async function person(): Promise<{ id: string; of: string }> {
    const { id } = await newParticipant(root, study.id, {
      email: `${secret}@example.org`,
      phone: '+49 30 1234567',
      date_of_birth: '1970-03-04',
      external_id: unique('rec'),
    });
    const of = `/api/studies/${study.id}/participants/${id}`;
    await root.expect(201, 'POST', `${of}/forms`, {
      form_oid: 'CONTACT',
      status: 'complete',
      items: {
        first_name: secret,
        Street: `${secret} road`,
        nickname: `${secret}y`,
        weight_kg: 71,
        drug_name: 'placebo',
      },
    });
    await root.expect(200, 'POST', `${of}/anchor-date`, { enrollment_date: '2026-01-12' });
    await owner.query(
      `insert into push_tokens (study_id, participant_id, platform, token) values ($1, $2, 'ios', $3)`,
      [study.id, id, `${secret}-${id}`],
    );
    return { id, of };
  }

  it('removes what identifies from every table and keeps dates, code and a valid chain', async () => {
    const { id, of } = await person();
    expect(await placesOf(owner, secret), 'before').to.include.members([
      'participants',
      'form_instances',
      'anchor_decisions',
      'push_tokens',
    ]);
    const answer = await root.expect<Loose & { participant: Loose }>(200, 'POST', `/api/participants/${id}/erase`, {
      reason: 'asked for it by letter',
      form_items: ['NICKNAME'],
    });
    expect(answer.participant).to.include({
      email: null,
      phone: null,
      date_of_birth: null,
      status: 'withdrawn',
      enrollment_date: '2026-01-12',
    });
    expect(await placesOf(owner, secret), 'after').to.deep.equal([]);
    const forms = await root.expect(200, 'GET', `${of}/forms`);
    expect(forms.items[0]!.items).to.deep.equal({ weight_kg: 71, drug_name: 'placebo' });
    expect(await root.expect(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).to.include({ valid: true });
    const {
      items: [record],
    } = await root.expect<{ items: (Loose & { audit_metadata: object })[] }>(
      200,
      'GET',
      `/api/audit?study_id=${study.id}&action=participant_erased`,
    );
    expect(record).to.include({ resource_id: id, user_id: root.userId });
    expect(JSON.stringify(record)).not.to.contain('letter');
    expect((await root.post(`/api/participants/${id}/erase`, { reason: 'again' })).body.code).to.equal(
      'PARTICIPANT_ERASED',
    );
    const history = await root.expect<Loose[]>(200, 'GET', `${of}/anchor-date/history`);
    const decision = await root.expect(200, 'POST', `${of}/anchor-date/decisions/${history.at(-1)!.id}/rederive`);
    expect(
      decision.differences,
      'the same is decided again; that the snapshot is not what was sealed is told',
    ).to.deep.equal(['snapshot']);
  });

  it('takes the files that were exported before along: one that names the person is not there any more, others stay', async () => {
    const { data_dir } = await service();
    const [{ id }, other] = [await person(), await newParticipant(root, study.id, {})];
    const asked = async (more: object): Promise<string> => {
      const { export_id } = await root.expect<{ export_id: string }>(202, 'POST', '/api/exports/csv', {
        study_id: study.id,
        dataset: 'participants',
        mode: 'background',
        ...more,
      });
      await until(async () => (await root.expect(200, 'GET', `/api/exports/${export_id}`)).status === 'completed', {
        what: 'the export to be written',
      });
      return export_id;
    };
    const [named, chosen, capitals, spared, nameless] = [
      await asked({}),
      await asked({ participant_ids: [id] }),
      await asked({ participant_ids: [id.toUpperCase()] }),
      await asked({ participant_ids: [other.id] }),
      await asked({ deidentify: true }),
    ];
    expect((await root.get(`/api/exports/${named}/download`)).text).to.contain(secret);
    // One that is being written has read what is removed here.
    const {
      rows: [writing],
    } = await owner.query<{ id: string }>(
      `insert into exports (id, study_id, requested_by_id, dataset, format, filters, status) select gen_random_uuid(), study_id, requested_by_id, dataset, format, filters, 'running' from exports where id = $1 returning id`,
      [named],
    );
    const { erased } = await root.expect<{ erased: Loose }>(200, 'POST', `/api/participants/${id}/erase`, {
      reason: 'x',
      form_items: ['nickname'],
    });
    expect(erased.exports).to.equal(4);
    const statuses = await Promise.all(
      [named, chosen, capitals, writing!.id, spared, nameless].map(
        async (one) => (await root.expect(200, 'GET', `/api/exports/${one}`)).status,
      ),
    );
    expect(statuses).to.deep.equal(['expired', 'expired', 'expired', 'failed', 'completed', 'completed']);
    for (const gone of [named, chosen, capitals]) {
      expect((await root.get(`/api/exports/${gone}/download`)).status).to.equal(404);
      await until(() => !existsSync(exportFile(data_dir, gone, 'csv')), { what: 'the file to be removed' });
    }
    for (const kept of [spared, nameless])
      expect((await root.get(`/api/exports/${kept}/download`)).text).not.to.contain(secret);
  });

  it('removes names of unscheduled visits and notes of reviews; names of the study’s windows stay', async () => {
    const { id } = await person();
    const day = '2026-02-03';
    const visit = { participant_id: id, name: `ill: ${secret}`, target_date: day, window_open: day, window_close: day };
    await root.expect(201, 'POST', '/api/schedules/visits', visit);
    await owner.query('update scheduled_visits set review_resolution = $2 where participant_id = $1', [id, secret]);
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x', form_items: ['nickname'] });
    expect(await placesOf(owner, secret)).to.deep.equal([]);
    const { rows } = await owner.query<{ name: string }>(
      'select name from scheduled_visits where participant_id = $1',
      [id],
    );
    expect(rows.filter(({ name }) => name === '[erased]')).to.have.length(1);
  });

  it('refuses the name of an item that no form has, and erases nothing: its value would stay for good', async () => {
    const { id } = await person();
    const refused = await root.post(`/api/participants/${id}/erase`, {
      reason: 'x',
      form_items: ['nickname', 'NICK_NAME', 'Weight_KG'],
    });
    expect([refused.status, refused.body.errors?.map(({ path, code }) => [path, code])]).to.deep.equal([
      400,
      [['form_items.1', 'UNKNOWN_FORM_ITEM']],
    ]);
    expect(await root.expect(200, 'GET', `/api/participants/${id}`)).to.include({ status: 'enrolled' });
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x', form_items: ['nickname'] });
  });

  it('replaces the code by a pseudonym when asked to', async () => {
    const { id } = await person();
    const before = await root.expect(200, 'GET', `/api/participants/${id}`);
    const { participant } = await root.expect<{ participant: Loose }>(200, 'POST', `/api/participants/${id}/erase`, {
      reason: 'x',
      replace_code: true,
      form_items: ['nickname'],
    });
    expect(participant.participant_code)
      .to.match(/^ERASED-[0-9A-F]{10}$/)
      .and.not.equal(before.participant_code);
    expect(participant.external_id).to.equal(before.external_id);
  });

  it('holds against whatever comes later', async () => {
    const { id, of } = await person();
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x', form_items: ['nickname'] });
    const before = await root.expect(200, 'GET', `/api/participants/${id}`);
    const refused = async (names: string[], method: string, path: string, body: object) => {
      const answer = await root.send(method, path, body);
      expect([answer.status, answer.body.code, answer.body.errors?.map((e) => e.path)], answer.text).to.deep.equal([
        409,
        'PARTICIPANT_ERASED',
        names,
      ]);
      for (const name of names) expect(answer.body.detail).to.contain(name.replace('items.', ''));
      expect(answer.text).not.to.contain(secret);
    };
    await refused(['email', 'phone'], 'PATCH', `/api/participants/${id}`, {
      email: `${secret}@example.org`,
      phone: '+49 30 1234567',
      arm: 'B',
    });
    await refused(['date_of_birth'], 'PATCH', `/api/participants/${id}`, {
      date_of_birth: '1970-03-04',
      participant_code: before.participant_code,
    });
    await refused(['participant_code'], 'PATCH', `/api/participants/${id}`, { participant_code: secret });
    expect(await root.expect(200, 'GET', `/api/participants/${id}`), 'nothing of it was stored').to.deep.equal(before);
    const {
      items: [form],
    } = await root.expect(200, 'GET', `${of}/forms`);
    await refused(['items.first_name'], 'POST', `${of}/forms`, {
      form_oid: 'CONTACT',
      items: { first_name: secret, email: null },
    });
    await refused(['items.nickname'], 'POST', `${of}/forms`, {
      form_oid: 'CONTACT',
      items: { nickname: `${secret}y` },
    });
    await refused(['items.nickname'], 'PATCH', `${of}/forms/${form!.id}`, {
      items: { nickname: `${secret}y` },
      status: 'signed',
    });
    expect((await root.expect(200, 'GET', `${of}/forms`)).items).to.deep.equal([form]);
    expect(await placesOf(owner, secret)).to.deep.equal([]);
  });

  it('leaves what names nobody to be changed, and takes what stands already', async () => {
    const { id, of } = await person();
    const {
      participant: { participant_code },
    } = await root.expect<{ participant: Loose }>(200, 'POST', `/api/participants/${id}/erase`, {
      reason: 'x',
      form_items: ['nickname'],
    });
    const changed = await root.expect(200, 'PATCH', `/api/participants/${id}`, {
      arm: 'B',
      email: null,
      phone: null,
      date_of_birth: null,
      participant_code,
    });
    expect(changed).to.include({ arm: 'B', email: null, phone: null, participant_code });
    const {
      items: [form],
    } = await root.expect(200, 'GET', `${of}/forms`);
    await root.expect(201, 'POST', `${of}/forms`, { form_oid: 'VISIT', status: 'complete', items: { email: null } });
    expect(
      await root.expect(200, 'PATCH', `${of}/forms/${form!.id}`, {
        status: 'signed',
        items: { weight_kg: 71, email: null },
      }),
    ).to.deep.include({ status: 'signed', items: { weight_kg: 71, drug_name: 'placebo' } });
  });

  it('of an identity given while it is being erased, nothing is kept', async () => {
    const { id, of } = await person();
    await until(async () => (await owner.query(`select from outbox where subject = $1`, [id])).rowCount === 0, {
      what: 'everything to be decided',
    });
    await root.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: 'x' });
    await owner.query('delete from push_tokens where participant_id = $1', [id]);
    await owner.query('begin');
    await owner.query(`select erase_participant($1, $2, 'x', null, '{nickname}')`, [id, root.userId]);
    const adding = root.post(`${of}/forms`, { form_oid: 'CONTACT', items: { first_name: secret } });
    const {
      rows: [self],
    } = await owner.query('select pg_backend_pid() as pid');
    await until(
      async () =>
        (await owner.query('select from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))', [self.pid]))
          .rowCount !== 0,
      { what: 'the form to wait' },
    );
    await owner.query('commit');
    expect((await adding).body.code).to.equal('PARTICIPANT_ERASED');
    expect((await root.expect(200, 'GET', `${of}/forms`)).total).to.equal(1);
  });

  it('waits for a decision that is being made, and removes what that has read', async () => {
    const { id, of } = await person();
    await until(async () => (await owner.query(`select from outbox where subject = $1`, [id])).rowCount === 0, {
      what: 'everything to be decided',
    });
    const facts = { forms: [{ form_oid: 'CONTACT', items: { nickname: `${secret}y` } }] };
    let erased = false;
    await owner.query('begin');
    await owner.query('select from anchor_dates where participant_id = $1 for update', [id]);
    const erasing = root
      .post(`/api/participants/${id}/erase`, { reason: 'x', form_items: ['nickname'] })
      .finally(() => {
        erased = true;
      });
    const {
      rows: [self],
    } = await owner.query('select pg_backend_pid() as pid');
    await until(
      async () =>
        erased ||
        (await owner.query('select from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))', [self.pid]))
          .rowCount !== 0,
      { what: 'the erasure to wait, or to be over' },
    );
    await owner.query(
      `insert into anchor_commands (id, study_id, participant_id, kind, outcome) values ($1, $2, $3, 'sources_changed', $4)`,
      [unique('late'), study.id, id, JSON.stringify({ facts })],
    );
    await owner.query('commit');
    expect((await erasing).status).to.equal(200);
    const {
      rows: [late],
    } = await owner.query<Loose>(`select outcome from anchor_commands where participant_id = $1 and id like 'late%'`, [
      id,
    ]);
    expect(late!.outcome).to.deep.equal({
      facts: { forms: [{ form_oid: 'CONTACT', items: { nickname: '[erased]' } }] },
    });
    expect(await root.expect(200, 'GET', `${of}/forms`))
      .to.have.nested.property('items[0].items')
      .that.has.all.keys('weight_kg', 'drug_name');
    expect(await placesOf(owner, secret)).to.deep.equal([]);
  });

  it('is an admin’s; the person’s data export is a researcher’s too, and recorded', async () => {
    const { id } = await person();
    const researcher = await user(root, 'researcher', { study_ids: [study.id] });
    const coordinator = await user(root, 'coordinator', { study_ids: [study.id] });
    const stranger = await user(root, 'researcher', { study_ids: [] });
    for (const other of [researcher, coordinator])
      expect((await other.post(`/api/participants/${id}/erase`, { reason: 'x' })).status).to.equal(403);
    expect((await root.post(`/api/participants/${id}/erase`, {})).status).to.equal(422);
    expect((await coordinator.get(`/api/participants/${id}/data-export`)).status).to.equal(403);
    expect((await stranger.get(`/api/participants/${id}/data-export`)).status).to.equal(404);
    const key = unique('key');
    await owner.query(
      `insert into push_tokens (study_id, participant_id, platform, token) values ($1, $2, 'ios', $3)`,
      [study.id, id, key],
    );
    await owner.query(
      `insert into notification_opt_outs (participant_id, study_id, channel, source) values ($1, $2, 'sms', 'link')`,
      [id, study.id],
    );
    const document = await researcher.expect<Record<string, Loose[]> & { participant: Loose }>(
      200,
      'GET',
      `/api/participants/${id}/data-export`,
    );
    expect(document.participant).to.include({ id, email: `${secret}@example.org` });
    expect(document.forms).to.have.length(1);
    expect(document.anchor_date_history!.length).to.be.greaterThan(0);
    expect(document.decisions!.length).to.be.greaterThan(0);
    expect([
      document.devices!.map(({ platform }) => platform),
      document.opt_outs!.map(({ channel }) => channel),
    ]).to.deep.equal([['ios', 'ios'], ['sms']]);
    expect(JSON.stringify(document))
      .not.to.include(key)
      .and.not.to.match(/token_hash|raw_body_hash|erased_by_id|\+00:00"/);
    // A table that comes to name participants is a part of it, too.
    const { rows } =
      await owner.query<Loose>(`select c.table_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'public' and c.column_name = 'participant_id' and t.table_type = 'BASE TABLE'`);
    expect(exportedTables).to.include.members(rows.map(({ table_name }) => table_name as string));
    expect(document.participant.created_at).to.match(/Z$/);
    const {
      items: [record],
    } = await root.expect(200, 'GET', `/api/audit?study_id=${study.id}&action=participant_data_exported`);
    expect(record).to.include({ resource_id: id, user_id: researcher.userId });
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x', form_items: ['nickname'] });
  });
});
