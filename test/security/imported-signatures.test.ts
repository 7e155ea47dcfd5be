import { expect } from 'chai';
import { Site, instant, HOUR } from '../assessment/stage.js';
import type { ItemView } from '../assessment/stage.js';
import { DAY, Stage } from '../anchor/stage.js';
import { unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

interface Tables {
  [table: string]: Record<string, unknown>[];
}
type Rows = { rows: Record<string, unknown>[] };

/** What is stored here of a signature counts; what a document says of one is a claim, in whichever form it goes out. */
describe('Signatures and decisions that came with an import', () => {
  let stage: Stage, importer: Http, text: string;
  before(async () => {
    stage = await Stage.open();
    const study = await stage.study({
      prerequisites: { require_consent_signed: false },
      sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
      permissions: { override_requires_approval: true, can_override: ['admin', 'coordinator'] },
    });
    importer = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const person = await study.person();
    expect((await person.set(DAY)).body.status).to.equal('finalized');
    const { body } = await person.override('2024-03-11', await study.as('coordinator'));
    const requests = `${person.path}/anchor-date/override-requests/${String(body.override_request_id)}`;
    expect((await stage.admin.post(`${requests}/approve`, {})).status).to.equal(200);
    const signer = await study.as('investigator');
    await signer.expect(201, 'POST', `${person.path}/forms`, { form_oid: 'F', status: 'signed', items: { A: 1 } });
    text = await full(study.id);
  });
  after(() => stage.close());

  const full = async (study: string) => (await importer.get(`/api/exports/studies/${study}/full`)).text;
  async function imported(content: string): Promise<string> {
    const {
      status,
      body,
      text: said,
    } = await importer.send<Loose>(
      'POST',
      `/api/studies/import/full?study_code=${unique('IMP')}&study_name=Imported`,
      undefined,
      { raw: { type: 'application/json', content } },
    );
    expect(status, said.slice(0, 500)).to.equal(201);
    return String(body.study_id);
  }
  /** Of a study with one signed form: what its record, its table and its ODM document say of the signature. */
  async function told(study: string): Promise<{ verified: unknown; proved: unknown[] }> {
    const [person] = (await importer.expect(200, 'GET', `/api/studies/${study}/participants`)).items;
    const at = `/api/studies/${study}/participants/${person!.id}`;
    const [form] = (await importer.expect<{ items: Loose[] }>(200, 'GET', `${at}/forms`)).items;
    const table = { study_id: study, dataset: 'forms' };
    const { rows } = await importer.expect<Rows>(200, 'POST', '/api/exports/json', table);
    const odm = (await importer.get(`/api/exports/studies/${study}/odm`)).text;
    const inOdm =
      /ItemOID="[^"]*SIGNATURE_PROVED_BY[^"]*"[^>]*Value="([^"]*)"|signature_proved_by[^>]*Value="([^"]*)"/i.exec(odm);
    return {
      verified: form!.signature_verified,
      proved: [(form!.signature as Loose).proved_by, rows[0]!.signature_proved_by, inOdm && (inOdm[1] ?? inOdm[2])],
    };
  }
  /** The document with signers who proved themselves by their passwords, it says. */
  const edited = () => {
    const document = JSON.parse(text) as { tables: Tables };
    for (const table of ['form_instances', 'override_requests'])
      for (const row of document.tables[table]!)
        if (row.signature) (row.signature as Record<string, unknown>).proved_by = 'password';
    return JSON.stringify(document);
  };

  it('of a document that was edited nobody has proved anything, in the record, a table or ODM', async () => {
    const study = await imported(edited());
    expect(await told(study)).to.deep.equal({ verified: false, proved: ['claimed', 'claimed', 'claimed'] });
    const signatures = await stage.sql<{ signature: Loose }>(
      'select signature from override_requests where study_id = ? and signature is not null',
      [study],
    );
    expect(signatures.map(({ signature }) => signature.proved_by)).to.deep.equal(['claimed']);
  });

  it('nor where this service has signed its export after that', async () => {
    const study = await imported(await full(await imported(edited())));
    expect(await told(study)).to.deep.equal({ verified: false, proved: ['claimed', 'claimed', 'claimed'] });
  });

  it('of its own document it knows what was proved, once and again', async () => {
    const once = await imported(text);
    expect(await told(once)).to.deep.equal({ verified: true, proved: ['session', 'session', 'session'] });
    const again = await imported(await full(once));
    expect(await told(again)).to.deep.equal({ verified: true, proved: ['session', 'session', 'session'] });
  });

  it('a decision names nobody who approved it', async () => {
    const study = await imported(text);
    const [person] = (await importer.expect(200, 'GET', `/api/studies/${study}/participants`)).items;
    const at = `/api/studies/${study}/participants/${person!.id}/anchor-date`;
    const history = await importer.expect<{ id: string }[]>(200, 'GET', `${at}/history`);
    for (const { id } of history)
      expect((await importer.expect<Loose>(200, 'GET', `${at}/decisions/${id}`)).approver_user_id).to.equal(null);
  });

  it('a conflict that is resolved after an import: what is made of it came with the import', async () => {
    const site = await Site.open();
    const visit = await site.visit({}, [-2, 0]);
    const item = site.item('met', { visitId: visit.id });
    const send = (body: Record<string, unknown>) => site.http.expect<ItemView>(200, 'POST', '/api/sync/sessions', body);
    await send(item);
    expect(await send({ ...item, completedAt: instant(-HOUR) })).to.include({ conflict_type: 'duplicate_session' });
    const exported = (await site.http.get(`/api/exports/studies/${site.study.id}/full`)).text;
    const by = site.http;
    const loaded = await by.send<Loose>(
      'POST',
      `/api/studies/import/full?study_code=${unique('IMP')}&study_name=Imported`,
      undefined,
      { raw: { type: 'application/json', content: exported } },
    );
    const at = `/api/studies/${String(loaded.body.study_id)}/sync-conflicts`;
    const [conflict] = (await by.expect(200, 'GET', at)).items;
    const resolved = await by.post<Loose>(`${at}/${conflict!.id}/resolve`, { keep: 'both', reason: 'both were done' });
    expect(resolved.status, resolved.text).to.equal(200);
    expect([resolved.body.imported, resolved.body.resolved_by_id]).to.deep.equal([true, by.userId]);
    const sessions = await stage.sql<{ imported: boolean; started_by_id: string | null }>(
      'select imported, started_by_id from assessment_sessions where study_id = ?',
      [String(loaded.body.study_id)],
    );
    expect(sessions).to.deep.equal([
      { imported: true, started_by_id: null },
      { imported: true, started_by_id: null },
    ]);
    // Exported and loaded again, the resolution is a claim as well.
    const twice = await by.send<Loose>(
      'POST',
      `/api/studies/import/full?study_code=${unique('IMP')}&study_name=Again`,
      undefined,
      {
        raw: {
          type: 'application/json',
          content: (await by.get(`/api/exports/studies/${String(loaded.body.study_id)}/full`)).text,
        },
      },
    );
    const [claimed] = (
      await by.expect<{ items: Loose[] }>(200, 'GET', `/api/studies/${String(twice.body.study_id)}/sync-conflicts`)
    ).items;
    expect([claimed!.resolved_by_id, claimed!.imported, claimed!.original_users]).to.deep.equal([
      null,
      true,
      { resolved_by_id: by.userId },
    ]);
  });
});
