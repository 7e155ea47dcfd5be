import { expect } from 'chai';
import { CLAIM_COLUMNS, SETTLED_COLUMNS } from '../../db/exports/full-study/claims.js';
import { DAY, Stage } from '../anchor/stage.js';
import { unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

/** Where a row names a person. */
const NAMED = [
  'form_instances.signed_by_id',
  'eligibility_assessments.confirmed_by_id',
  'eligibility_assessments.waiver_requested_by_id',
  'eligibility_assessments.waiver_approved_by_id',
  'anchor_date_history.actor_user_id',
  'override_requests.requested_by_id',
  'override_requests.decided_by_id',
  'schedule_versions.generated_by_id',
  'scheduled_visits.reviewed_by_id',
  'enrollment_policies.author_id',
  'battery_versions.published_by_id',
  'anchor_dates.finalized_by_id',
  'anchor_dates.override_actor_id',
  'anchor_dates.override_approved_by_id',
  'anchor_decisions.approver_user_id',
  'participants.erased_by_id',
  'caregiver_participants.created_by',
];

interface Tables {
  [table: string]: Record<string, unknown>[];
}

describe('A full import: what it claims of persons is shown as a claim', () => {
  let stage: Stage, importer: Http, signer: Http, text: string;
  before(async () => {
    stage = await Stage.open();
    const study = await stage.study({
      prerequisites: { require_consent_signed: false },
      sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
      permissions: { override_requires_approval: true },
    });
    signer = await study.as('investigator');
    importer = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const person = await study.person();
    await person.eligible('2024-03-01T09:00:00Z');
    expect((await person.set(DAY)).body.status).to.equal('finalized');
    expect((await person.override('2024-03-11')).status).to.equal(202);
    await person.consent('2024-03-01T09:00:00Z');
    await signer.expect(201, 'POST', `${person.path}/randomization`, {
      arm: 'A',
      randomized_at: '2024-03-10T09:00:00Z',
    });
    await signer.expect(201, 'POST', `${person.path}/forms`, { form_oid: 'F', status: 'signed', items: { A: 1 } });
    const battery = await stage.admin.expect(201, 'POST', '/api/batteries', {
      study_id: study.id,
      code: 'B',
      name: 'B',
    });
    await stage.admin.expect(201, 'POST', `/api/batteries/${battery.id}/modules`, { task: 'stroop' });
    await stage.admin.expect(200, 'PATCH', `/api/batteries/${battery.id}`, { status: 'published' });
    const at = `/api/studies/${study.id}/caregivers`;
    const caregiver = await stage.admin.expect(201, 'POST', at, { name: 'Ada' });
    await stage.admin.expect(200, 'PUT', `${at}/${caregiver.id}/participants/${person.id}`, { relationship: 'parent' });
    text = (await importer.get(`/api/exports/studies/${study.id}/full`)).text;
  });
  after(() => stage.close());

  async function imported(content: string): Promise<{ loaded: Loose; path: string }> {
    const loaded = await importer.send<Loose>(
      'POST',
      `/api/studies/import/full?study_code=${unique('IMP')}&study_name=Imported`,
      undefined,
      { raw: { type: 'application/json', content } },
    );
    expect(loaded.status, loaded.text.slice(0, 500)).to.equal(201);
    const of = `/api/studies/${String(loaded.body.study_id)}`;
    const [person] = (await importer.expect(200, 'GET', `${of}/participants`)).items;
    return { loaded: loaded.body, path: `${of}/participants/${person!.id}` };
  }
  const claim = ({ imported: is, imported_by, original_users }: Record<string, unknown>) => ({
    is,
    imported_by,
    original_users,
  });
  const warned = (loaded: Loose) => (loaded.warnings as { code: string }[]).map(({ code }) => code);

  it('records, history, timeline and exports name the importer, and whom the document names as text alone', async () => {
    const { path, loaded } = await imported(text);
    const [form] = (await importer.expect(200, 'GET', `${path}/forms`)).items;
    expect([form!.signed_by_id, claim(form!), form!.signature_verified]).to.deep.equal([
      null,
      { is: true, imported_by: importer.userId, original_users: { signed_by_id: signer.userId } },
      true,
    ]);
    const [consent] = (await importer.expect(200, 'GET', `${path}/consents`)).items;
    const randomization = await importer.expect(200, 'GET', `${path}/randomization`);
    for (const record of [consent!, randomization])
      expect(claim(record)).to.deep.equal({ is: true, imported_by: importer.userId, original_users: null });
    const [entered] = await stage.sql<Record<string, unknown>>(
      'select imported, imported_by, original_users from manual_anchor_entries where study_id = ?',
      [loaded.study_id],
    );
    expect(claim(entered!)).to.deep.equal({
      is: true,
      imported_by: importer.userId,
      original_users: { entered_by_user_id: stage.admin.userId },
    });
    const eligibility = await importer.expect(200, 'GET', `${path}/eligibility`);
    expect([eligibility.confirmed_by_id, eligibility.imported, eligibility.original_users]).to.deep.equal([
      null,
      true,
      { confirmed_by_id: stage.admin.userId },
    ]);
    const history = await importer.expect<Record<string, unknown>[]>(200, 'GET', `${path}/anchor-date/history`);
    const finalized = history.find(({ original_users }) => original_users !== null)!;
    expect([finalized.actor_user_id, claim(finalized)]).to.deep.equal([
      null,
      { is: true, imported_by: importer.userId, original_users: { actor_user_id: stage.admin.userId } },
    ]);
    const [request] = (await importer.expect(200, 'GET', `${path}/anchor-date/override-requests`)).items;
    expect([request!.requested_by_id, claim(request!)]).to.deep.equal([
      null,
      { is: true, imported_by: importer.userId, original_users: { requested_by_id: stage.admin.userId } },
    ]);
    const { items } = await importer.expect<{ items: { kind: string; what: string; data: Record<string, unknown> }[] }>(
      200,
      'GET',
      `${path}/timeline`,
    );
    for (const kind of ['consent', 'randomization', 'form', 'eligibility', 'anchor'])
      expect(items.find((item) => item.kind === kind && item.data.imported === true)?.data, kind).to.include({
        imported_by: importer.userId,
      });
    for (const dataset of ['consents', 'randomization', 'forms', 'anchor_history', 'eligibility']) {
      const { rows } = await importer.expect<{ rows: Record<string, unknown>[] }>(200, 'POST', '/api/exports/json', {
        study_id: loaded.study_id,
        dataset,
      });
      expect(rows[0], dataset).to.include({ imported: true, imported_by: importer.userId });
      if (dataset === 'forms') expect(rows[0]!.signature).to.equal('verified');
    }
    expect(warned(loaded)).not.to.include('SIGNATURES_NOT_VERIFIED');
  });

  it('so do policies, published batteries, schedules, reviewed visits, settled conflicts, sessions, events and FHIR', async () => {
    const document = JSON.parse(text) as { tables: Tables };
    const by = signer.userId!;
    const { tables } = document;
    const [visit] = tables.scheduled_visits!.filter(({ status }) => status !== 'superseded');
    Object.assign(visit!, { reviewed_by_id: by, reviewed_at: '2024-03-20T09:00:00Z' });
    for (const version of tables.schedule_versions!) version.generated_by_id = by;
    for (const policy of tables.enrollment_policies!) policy.author_id = by;
    Object.assign(tables.anchor_dates![0]!, {
      is_override: true,
      override_actor_id: by,
      override_at: '2024-03-20T09:00:00Z',
      override_approved: true,
      override_approved_by_id: stage.admin.userId,
      override_approved_at: '2024-03-20T10:00:00Z',
    });
    const { path, loaded } = await imported(JSON.stringify(document));
    const study = String(loaded.study_id);
    const own = (column: string, named: string) => ({
      is: true,
      imported_by: importer.userId,
      original_users: { [column]: named },
    });
    const { items: visits } = await importer.expect<{ items: Record<string, unknown>[] }>(
      200,
      'GET',
      `/api/schedules/visits?study_id=${study}`,
      undefined,
      { headers: { 'X-Study-ID': study } },
    );
    const reviewed = visits.find(({ reviewed_at }) => reviewed_at !== null)!;
    expect([reviewed.reviewed_by_id, claim(reviewed)]).to.deep.equal([null, own('reviewed_by_id', by)]);
    const { items: policies } = await importer.expect<{ items: Record<string, unknown>[] }>(
      200,
      'GET',
      `/api/studies/${study}/config/enrollment-policy/versions`,
    );
    expect([policies[0]!.author_id, claim(policies[0]!)]).to.deep.equal([null, own('author_id', by)]);
    const { rows: versions } = await importer.expect<{ rows: Record<string, unknown>[] }>(
      200,
      'POST',
      '/api/exports/json',
      { study_id: study, dataset: 'schedule_versions' },
    );
    expect([versions[0]!.generated_by_id, claim(versions[0]!)]).to.deep.equal([null, own('generated_by_id', by)]);
    const [anchor] = await stage.sql<Record<string, unknown>>(
      'select imported, is_override, finalized_by_id, override_actor_id, override_approved_by_id from anchor_dates where study_id = ?',
      [study],
    );
    expect(anchor).to.deep.equal({
      imported: true,
      is_override: true,
      finalized_by_id: null,
      override_actor_id: null,
      override_approved_by_id: null,
    });
    const { items: events } = await importer.expect<{ items: { type: string; data: Loose }[] }>(
      200,
      'GET',
      `/api/studies/${study}/events`,
    );
    const set = events.find(({ type }) => type === 'ENROLLMENT_DATE_SET')!.data as Record<string, unknown>;
    expect([set.actor, claim(set)]).to.deep.equal([
      { type: 'user', user_id: null },
      own('actor.user_id', stage.admin.userId!),
    ]);
    const [entry] = await importer.expect<{ id: string }[]>(200, 'GET', `${path}/anchor-date/history`);
    expect(
      claim(await importer.expect<Record<string, unknown>>(200, 'GET', `${path}/anchor-date/decisions/${entry!.id}`)),
    ).to.include({ is: true, imported_by: importer.userId });
    const person = path.split('/').at(-1)!;
    const fhir = await importer.get(`/api/exports/studies/${study}/participants/${person}/fhir`);
    const bundle = JSON.parse(fhir.text) as { entry: { resource: Record<string, unknown> }[] };
    const consent = bundle.entry.find(({ resource }) => resource.resourceType === 'Consent')!.resource;
    expect(consent.verification).to.deep.equal([{ verified: false }]);
    expect((consent.meta as { tag: { code: string }[] }).tag.map(({ code }) => code)).to.deep.equal(['imported']);
  });

  it('a document that was edited, or that another service signed, has no verified signature', async () => {
    const document = JSON.parse(text) as { tables: Tables; manifest: Record<string, string> };
    const edited = structuredClone(document);
    edited.tables.form_instances![0]!.items = { A: 2 };
    edited.tables.form_instances![0]!.imported = false;
    const unsigned: Partial<typeof document> = structuredClone(document);
    delete unsigned.manifest;
    for (const content of [
      JSON.stringify(edited),
      text.replace('"A":1', '"A":2'),
      text.replace(/"A": ?1/, '"A": 2'),
      JSON.stringify(unsigned),
      text.replace(/("signature":")..../, '$1AAAA'),
    ].filter((content) => content !== text)) {
      const { path, loaded } = await imported(content);
      const [form] = (await importer.expect(200, 'GET', `${path}/forms`)).items;
      expect([form!.imported, form!.signature_verified, warned(loaded)[0]]).to.deep.equal([
        true,
        false,
        'SIGNATURES_NOT_VERIFIED',
      ]);
      const { rows } = await importer.expect<{ rows: Record<string, unknown>[] }>(200, 'POST', '/api/exports/json', {
        study_id: loaded.study_id,
        dataset: 'forms',
      });
      expect(rows[0]!.signature).to.equal('not verified');
    }
  });

  it('what waited for another person still does: anyone who imports it stands for whom the document names', async () => {
    const asked = JSON.parse(text) as { tables: Tables };
    // After a signature the policy moves no date.
    asked.tables.form_instances = [];
    const { path } = await imported(JSON.stringify(asked));
    const [request] = (await importer.expect(200, 'GET', `${path}/anchor-date/override-requests`)).items;
    const decide = (by: Http) =>
      by.post(`${path}/anchor-date/override-requests/${String(request!.override_request_id)}/approve`, {});
    const own = await decide(importer);
    expect([own.status, own.body.code]).to.deep.equal([403, 'SELF_APPROVAL']);
    const granted = await decide(stage.admin);
    expect(granted.status, granted.text).to.equal(200);
    expect((await importer.expect(200, 'GET', `${path}/anchor-date`)).enrollment_date).to.equal('2024-03-11');

    const edited = JSON.parse(text) as { tables: Tables };
    const waiver = {
      status: 'eligible',
      confirmed_at: '2024-03-01T09:00:00Z',
      has_waiver: true,
      waiver_criteria_ids: ['AGE'],
      waiver_reason: 'agreed with the sponsor',
    };
    Object.assign(edited.tables.eligibility_assessments![0]!, waiver, { waiver_requested_by_id: signer.userId });
    const waived = await imported(JSON.stringify(edited));
    const put = (by: Http) => by.expect(200, 'PUT', `${waived.path}/eligibility`, waiver);
    expect((await put(importer)).waiver_approved_by_id).to.equal(null);
    const another = await user(stage.admin, 'researcher', { study_ids: [String(waived.loaded.study_id)] });
    expect((await put(another)).waiver_approved_by_id).to.equal(another.userId);
  });

  it('a document names nobody in any table, whatever its rows say', async () => {
    const { tables } = JSON.parse(text) as { tables: Tables };
    // As a document of a service with more users, edited by hand: each row names somebody who is a user here.
    const by = await user(stage.admin, 'investigator');
    const named = Object.entries(SETTLED_COLUMNS).flatMap(([table, columns]) =>
      (tables[table] ?? []).flatMap((row) => {
        const persons = columns.filter((column) => !CLAIM_COLUMNS.includes(column));
        for (const column of persons) row[column] = by.userId;
        return persons.map((column) => `${table}.${column}`);
      }),
    );
    expect([...new Set(named)]).to.include.members(NAMED);
    const { loaded } = await imported(JSON.stringify({ ...JSON.parse(text), tables }));
    const columns = await stage.sql<{ table_name: string }>(
      `select distinct table_name from information_schema.columns
       where table_schema = 'public' and column_name = 'study_id' order by table_name`,
    );
    const found: string[] = [];
    for (const { table_name } of columns) {
      const rows = await stage.sql<{ row: object }>(
        `select to_jsonb(x) - 'original_users' as row from ${table_name} x where study_id = ? and to_jsonb(x)::text like ?`,
        [loaded.study_id, `%${by.userId}%`],
      );
      if (rows.some(({ row }) => JSON.stringify(row).includes(by.userId!))) found.push(table_name);
    }
    expect(found).to.deep.equal([]);
  });

  it('what is done here is no claim', async () => {
    const study = await stage.study();
    const person = await study.person();
    const form = await stage.admin.expect(201, 'POST', `${person.path}/forms`, { form_oid: 'F', status: 'signed' });
    expect([form.imported, form.imported_by, form.original_users, form.signature_verified]).to.deep.equal([
      false,
      null,
      null,
      null,
    ]);
  });
});
