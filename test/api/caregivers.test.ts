import { expect } from 'chai';
import pg from 'pg';
import { Http, admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';

interface Caregiver extends Loose {
  name: string | null;
  email: string | null;
  participants: { participant_id: string; relationship: string }[];
  updated_at: string;
}
interface Record extends Loose {
  user_id: string | null;
  resource_id: string;
  resource_type: string;
  action: string;
  audit_metadata: { [key: string]: unknown };
}

const NOBODY = '00000000-0000-4000-8000-000000000000';

describe('Caregivers', function caregivers() {
  let root: Http;
  let study: Loose;
  let owner: pg.Client;
  let at: string;
  before(async () => {
    root = await admin();
    study = await newStudy(root);
    at = `/api/studies/${study.id}/caregivers`;
    owner = new pg.Client({ connectionString: (await service()).database_url });
    await owner.connect();
  });
  after(() => owner.end());

  const made = (fields: object = {}, by = root): Promise<Caregiver> =>
    by.expect(201, 'POST', at, { name: 'Ada', email: `${unique('care')}@example.org`, ...fields });
  const seen = (id: string, by = root): Promise<Caregiver> => by.expect(200, 'GET', `${at}/${id}`);
  const care = (caregiver: string, participant: string, relationship = 'mother', by = root): Promise<Caregiver> =>
    by.expect(200, 'PUT', `${at}/${caregiver}/participants/${participant}`, { relationship });
  const audited = async (action: string, of = study): Promise<Record[]> =>
    (await root.expect<{ items: Record[] }>(200, 'GET', `/api/audit?study_id=${of.id}&action=${action}&limit=500`))
      .items;

  it('are made, read, listed, changed and removed, each change an audit record without what identifies', async () => {
    const ada = await made({ name: unique('Zamira'), phone: '+49 30 7654321', preferred_language: 'de' });
    expect(ada).to.have.all.keys(
      'id',
      'study_id',
      'name',
      'email',
      'phone',
      'preferred_language',
      'status',
      'participants',
      'created_at',
      'updated_at',
    );
    expect(ada).to.deep.include({ study_id: study.id, status: 'active', participants: [] });
    expect(await seen(ada.id)).to.deep.equal(ada);
    const found = await root.expect(200, 'GET', `${at}?search=${ada.name!.toUpperCase()}`);
    expect(found).to.deep.equal({ items: [ada], total: 1 });
    const changed = await root.expect<Caregiver>(200, 'PATCH', `${at}/${ada.id}`, { phone: null, status: 'inactive' });
    expect(changed).to.include({ phone: null, status: 'inactive', name: ada.name });
    expect(
      (await root.expect<{ items: Loose[] }>(200, 'GET', `${at}?status=inactive&limit=500`)).items.map(({ id }) => id),
    ).to.include(ada.id);
    await root.expect(204, 'DELETE', `${at}/${ada.id}`);
    expect((await root.get(`${at}/${ada.id}`)).status).to.equal(404);
    const records = (
      await Promise.all(
        ['caregiver_created', 'caregiver_changed', 'caregiver_deleted'].map((action) => audited(action)),
      )
    ).map((all) => all.find(({ resource_id }) => resource_id === ada.id)!);
    for (const record of records) expect(record).to.include({ user_id: root.userId, resource_type: 'caregiver' });
    expect(records[0]!.audit_metadata).to.deep.equal({ fields: ['email', 'name', 'phone', 'preferred_language'] });
    expect(records[1]!.audit_metadata).to.deep.equal({ fields: ['phone', 'status'], status: 'inactive' });
    for (const word of [ada.name, ada.email, '7654321']) expect(JSON.stringify(records)).not.to.include(word);
  });

  it('are changed and removed under a tag, which moves with whom they care for', async () => {
    const one = await made();
    const person = await newParticipant(root, study.id);
    const tag = async () => (await root.get(`${at}/${one.id}`)).headers.get('etag')!;
    const first = await tag();
    await care(one.id, person.id);
    const second = await tag();
    expect(second).not.to.equal(first);
    for (const [method, path, body] of [
      ['PATCH', `${at}/${one.id}`, { name: 'Bea' }],
      ['PUT', `${at}/${one.id}/participants/${person.id}`, { relationship: 'aunt' }],
      ['DELETE', `${at}/${one.id}/participants/${person.id}`],
      ['DELETE', `${at}/${one.id}`],
    ] as const) {
      const stale = await root.send(method, path, body, { headers: { 'If-Match': first } });
      expect([stale.status, stale.body.code], `${method} ${path}`).to.deep.equal([409, 'STALE']);
    }
    expect((await root.patch(`${at}/${one.id}`, { name: 'Bea' }, { headers: { 'If-Match': second } })).status).to.equal(
      200,
    );
    expect((await root.delete(`${at}/${one.id}`, { headers: { 'If-Match': await tag() } })).status).to.equal(204);
  });

  it('care for several participants, a participant is cared for by several; saying it twice changes nothing', async () => {
    const [ada, bob] = [await made(), await made({ name: 'Bob', email: null })];
    const [first, second] = [await newParticipant(root, study.id), await newParticipant(root, study.id)];
    await care(ada.id, first.id);
    const both = await care(ada.id, second.id, 'guardian');
    expect(both.participants).to.deep.equal([
      { participant_id: first.id, relationship: 'mother' },
      { participant_id: second.id, relationship: 'guardian' },
    ]);
    expect(await care(ada.id, second.id, 'guardian')).to.deep.equal(both);
    await care(bob.id, first.id, 'father');
    const of = await root.expect(200, 'GET', `/api/participants/${first.id}/caregivers`);
    expect([of.total, of.items.map(({ id, relationship }) => [id, relationship])]).to.deep.equal([
      2,
      [
        [ada.id, 'mother'],
        [bob.id, 'father'],
      ],
    ]);
    expect(
      (await root.expect(200, 'GET', `/api/participants/${first.id}/caregivers?skip=1&limit=1`)).items.map(
        ({ id }) => id,
      ),
    ).to.deep.equal([bob.id]);
    expect((await care(ada.id, second.id, 'aunt')).participants[1]).to.deep.equal({
      participant_id: second.id,
      relationship: 'aunt',
    });
    await root.expect(204, 'DELETE', `${at}/${ada.id}/participants/${first.id}`);
    expect((await root.delete(`${at}/${ada.id}/participants/${first.id}`)).status).to.equal(404);
    expect((await seen(ada.id)).participants.map(({ participant_id }) => participant_id)).to.deep.equal([second.id]);
    const told = async (action: string) =>
      (await audited(action))
        .filter(({ audit_metadata }) => audit_metadata.caregiver_id === ada.id)
        .map(({ resource_id, user_id }) => [resource_id, user_id]);
    expect(await told('caregiver_assigned'))
      .to.have.deep.members([
        [first.id, root.userId],
        [second.id, root.userId],
      ])
      .and.have.length(2);
    expect(await told('caregiver_relationship_changed')).to.deep.equal([[second.id, root.userId]]);
    expect(await told('caregiver_unassigned')).to.deep.equal([[first.id, root.userId]]);
  });

  it('what cannot be is refused: another study’s participant or caregiver, who has withdrawn, what does not fit', async () => {
    const one = await made();
    const [gone, other] = [await newParticipant(root, study.id), await newStudy(root)];
    const strange = await newParticipant(root, other.id);
    await root.expect(200, 'POST', `/api/participants/${gone.id}/withdraw`, { reason: 'x' });
    const put = (path: string, body: object = { relationship: 'mother' }) => root.put(path, body);
    expect((await put(`${at}/${one.id}/participants/${gone.id}`)).body.code).to.equal('PARTICIPANT_WITHDRAWN');
    for (const path of [
      `${at}/${one.id}/participants/${strange.id}`,
      `${at}/${NOBODY}/participants/${gone.id}`,
      `/api/studies/${other.id}/caregivers/${one.id}/participants/${strange.id}`,
    ])
      expect((await put(path)).status, path).to.equal(404);
    for (const path of [`/api/studies/${other.id}/caregivers/${one.id}`, `${at}/${NOBODY}`, `${at}/x`])
      expect((await root.get(path)).status, path).to.equal(404);
    for (const body of [{}, { relationship: '' }, { relationship: 'x'.repeat(101) }])
      expect((await put(`${at}/${one.id}/participants/${strange.id}`, body)).status).to.be.oneOf([404, 422]);
    for (const body of [{ email: 'no address' }, { phone: 'x' }, { status: 'gone' }, { study_id: other.id }])
      expect((await root.post(at, body)).status, JSON.stringify(body)).to.equal(422);
  });

  it('are of staff who work with participants, within their study and their sites', async () => {
    const of = await newStudy(root);
    const path = `/api/studies/${of.id}/caregivers`;
    const sites = [
      await root.expect(201, 'POST', `/api/studies/${of.id}/sites`, { site_code: 'A' }),
      await root.expect(201, 'POST', `/api/studies/${of.id}/sites`, { site_code: 'B' }),
    ];
    const people = [
      await newParticipant(root, of.id, { site_code: 'A' }),
      await newParticipant(root, of.id, { site_code: 'B' }),
    ];
    const [here, there, both, free] = (await Promise.all(
      ['here', 'there', 'both', 'free'].map((name) =>
        root.expect<Caregiver>(201, 'POST', path, { name, email: `${unique('c')}@example.org` }),
      ),
    )) as [Caregiver, Caregiver, Caregiver, Caregiver];
    const assign = (who: Caregiver, person: Loose, by = root) =>
      by.put(`${path}/${who.id}/participants/${person.id}`, { relationship: 'x' });
    for (const [who, person] of [
      [here, people[0]!],
      [there, people[1]!],
      [both, people[0]!],
      [both, people[1]!],
    ] as const)
      expect((await assign(who, person)).status).to.equal(200);
    const coordinator = await user(root, 'coordinator', { study_ids: [of.id], site_ids: [sites[0]!.id] });
    const list = await coordinator.expect<{ items: Caregiver[]; total: number }>(200, 'GET', path);
    expect([list.total, list.items.map(({ id }) => id).sort()]).to.deep.equal([3, [here.id, both.id, free.id].sort()]);
    expect(
      (await coordinator.expect<Caregiver>(200, 'GET', `${path}/${both.id}`)).participants.map(
        ({ participant_id }) => participant_id,
      ),
    ).to.deep.equal([people[0]!.id]);
    for (const [method, more, body] of [
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['PUT', `/participants/${people[0]!.id}`, { relationship: 'x' }],
      ['DELETE', `/participants/${people[0]!.id}`],
    ] as const) {
      expect((await coordinator.send(method, `${path}/${there.id}${more}`, body)).status, `${method} ${more}`).to.equal(
        404,
      );
    }
    for (const out of [`${path}/${here.id}/participants/${people[1]!.id}`])
      expect((await coordinator.put(out, { relationship: 'x' })).status).to.equal(404);
    expect((await coordinator.get(`/api/participants/${people[1]!.id}/caregivers`)).status).to.equal(404);
    expect(
      (await coordinator.post('/api/portal/magic-link', { caregiver_id: there.id, channel: 'email' })).status,
    ).to.equal(404);
    // An address of one's own would be sent a link that opens what is the other site's.
    for (const [method, body] of [['PATCH', { email: 'mine@example.org' }], ['DELETE']] as const) {
      const refused = await coordinator.send(method, `${path}/${both.id}`, body);
      expect([refused.status, refused.body.code], method).to.deep.equal([403, 'SITE_NOT_ASSIGNED']);
    }
    expect((await coordinator.patch(`${path}/${here.id}`, { name: 'Here' })).status).to.equal(200);
    expect((await assign(free, people[0]!, coordinator)).status).to.equal(200);
    const manager = await user(root, 'data_manager', { study_ids: [of.id] });
    const stranger = await user(root, 'coordinator', { study_ids: [study.id] });
    expect([
      (await manager.get(path)).status,
      (await manager.post(path, {})).status,
      (await stranger.get(path)).status,
      (await stranger.get(`${path}/${here.id}`)).status,
    ]).to.deep.equal([403, 403, 404, 404]);
    expect((await root.expect<Caregiver>(200, 'GET', `${path}/${both.id}`)).email).to.equal(both.email);
  });

  it('an erasure ends the care, and removes who then cares for nobody; the data export names the relationship and no address', async () => {
    const secret = unique('quilla').replace('-', '');
    const [first, second] = [await newParticipant(root, study.id), await newParticipant(root, study.id)];
    const [only, shared] = [
      await made({ name: secret, email: `${secret}@example.org`, phone: '+49 30 5550199' }, root),
      await made({ name: 'Shared' }),
    ];
    const again = await root.post<Caregiver>(
      at,
      { name: secret, email: `2${secret}@example.org` },
      { headers: { 'Idempotency-Key': unique('k') } },
    );
    for (const [who, person] of [
      [only, first],
      [again.body, first],
      [shared, first],
      [shared, second],
    ] as const)
      await care(who.id, person.id);
    const told = await root.expect<Loose & { caregivers: Loose[] }>(
      200,
      'GET',
      `/api/participants/${first.id}/data-export`,
    );
    expect(told.caregivers.map(({ caregiver_id, relationship }) => [caregiver_id, relationship])).to.deep.equal([
      [only.id, 'mother'],
      [again.body.id, 'mother'],
      [shared.id, 'mother'],
    ]);
    expect(JSON.stringify(told)).not.to.include(secret).and.not.include(shared.email!);
    const { erased } = await root.expect<{ erased: Loose }>(200, 'POST', `/api/participants/${first.id}/erase`, {
      reason: 'asked for it',
    });
    expect(erased.caregivers).to.equal(3);
    expect(await seen(only.id)).to.deep.include({
      name: null,
      email: null,
      phone: null,
      status: 'inactive',
      participants: [],
    });
    expect(await seen(shared.id)).to.deep.include({
      name: 'Shared',
      status: 'active',
      participants: [{ participant_id: second.id, relationship: 'mother' }],
    });
    const { rows } = await owner.query<{ name: string }>(
      `select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`,
    );
    for (const { name } of rows) {
      const {
        rows: [hit],
      } = await owner.query(
        `select exists (select from "${name}" x where x::text like $1 or encode(convert_to(x::text, 'UTF8'), 'escape') like $1) as there`,
        [`%${secret}%`],
      );
      expect(hit.there, name).to.equal(false);
    }
    expect(await root.expect(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).to.include({ valid: true });
  });

  it('travel with a whole study, with new ids', async () => {
    const from = await newStudy(root);
    const path = `/api/studies/${from.id}/caregivers`;
    const person = await newParticipant(root, from.id, { participant_code: 'ONE' });
    const { id } = await root.expect(201, 'POST', path, { name: 'Traveller', email: 'traveller@example.org' });
    await root.expect(200, 'PUT', `${path}/${id}/participants/${person.id}`, { relationship: 'uncle' });
    const document = (await root.get(`/api/exports/studies/${from.id}/full`)).text;
    const loaded = await root.send(
      'POST',
      `/api/studies/import/full?study_code=${unique('S')}&study_name=Copy`,
      undefined,
      { raw: { type: 'application/json', content: document } },
    );
    expect(loaded.status, loaded.text).to.be.oneOf([200, 201]);
    const to = String(loaded.body.study_id ?? (loaded.body.study as Loose).id);
    const { items } = await root.expect<{ items: Caregiver[] }>(200, 'GET', `/api/studies/${to}/caregivers`);
    const {
      items: [copy],
    } = await root.expect(200, 'GET', `/api/studies/${to}/participants`);
    expect(items.map(({ name, participants }) => [name, participants])).to.deep.equal([
      ['Traveller', [{ participant_id: copy!.id, relationship: 'uncle' }]],
    ]);
    expect(items[0]!.id).not.to.equal(id);
  });
});
