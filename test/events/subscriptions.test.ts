import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { AnchorStudy, Stage } from '../anchor/stage.js';
import { startApi } from '../support/api-process.js';
import { admin, user } from '../support/http.js';
import type { Role } from '../support/http.js';
import { Receiver } from '../support/receiver.js';
import type { Received } from '../support/receiver.js';
import { until } from '../support/until.js';
import { ALL, FINAL_AT_ONCE, deliveries, emitted, setDate, subscribe, subscriptions } from './stage.js';
import type { Delivery, Emitted } from './stage.js';

const verified = (secret: string, { headers, body }: Received): Emitted =>
  new Webhook(secret).verify(body, headers as Record<string, string>) as Emitted;

describe('Event subscriptions', function subscriptionTests() {
  let stage: Stage;
  let study: AnchorStudy;
  let receiver: Receiver;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(FINAL_AT_ONCE, { days: [0] });
    receiver = await Receiver.open();
  });
  after(async () => {
    await receiver.close();
    await stage.close();
  });
  const arrived = (path: string, count = 1): Promise<Received[]> =>
    until(() => (receiver.at(path).length >= count ? receiver.at(path) : undefined), {
      what: `${count} events at ${path}`,
    });
  const settled = (id: string, count: number): Promise<Delivery[]> =>
    until(
      async () => {
        const all = await deliveries(study, id);
        return all.length === count && all.every(({ status }) => status === 'delivered') ? all : undefined;
      },
      { what: 'deliveries to be noted' },
    );

  it('send the event as it is listed, signed so that an independent library verifies it', async () => {
    const made = await subscribe(study, `${receiver.url}/one`);
    expect(made.secret).to.match(/^whsec_/);
    expect(Buffer.from(made.secret.slice(6), 'base64')).to.have.length(32);
    const participant = await setDate(study);
    const [got] = await arrived('/one');
    const event = verified(made.secret, got!);
    const listed = (await emitted(study)).find((one) => one.participant_id === participant)!;
    expect(got!.body).to.equal(JSON.stringify(listed));
    expect([event.type, got!.headers['webhook-id']]).to.deep.equal(['ENROLLMENT_DATE_SET', listed.id]);
    const [delivery] = await settled(made.id, 1);
    expect(delivery).to.include({
      event_id: listed.id,
      event_type: 'ENROLLMENT_DATE_SET',
      attempts: 1,
      response_status: 204,
      last_error: null,
      next_attempt_at: null,
    });
    await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${made.id}`);
  });

  it('show the secret once and keep it encrypted', async () => {
    const made = await subscribe(study, `${receiver.url}/secret`);
    const path = `${subscriptions(study)}/${made.id}`;
    expect((await stage.admin.get(path)).text).not.to.include(made.secret);
    expect((await stage.admin.get(subscriptions(study))).text).not.to.include('whsec_');
    const tables = await stage.sql<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
    );
    for (const { name } of tables)
      expect(
        await stage.sql(`select 1 from ${name} x where position(? in x::text) > 0`, [made.secret.slice(6)]),
        name,
      ).to.deep.equal([]);
    await stage.admin.expect(204, 'DELETE', path);
    await stage.admin.expect(404, 'GET', path);
  });

  it('send only what was asked for, only of their study, and nothing while disabled', async () => {
    const other = await stage.study(FINAL_AT_ONCE, { days: [0] });
    const made = await subscribe(study, `${receiver.url}/some`, { events: ['ENROLLMENT_DATE_CHANGED'] });
    const all = await subscribe(study, `${receiver.url}/all`);
    await setDate(other);
    const participant = await setDate(study);
    await settled(all.id, 1);
    expect(verified(all.secret, receiver.at('/all')[0]!).participant_id).to.equal(participant);
    const path = `${subscriptions(study)}/${all.id}`;
    expect(await stage.admin.expect(200, 'PATCH', path, { status: 'disabled' })).to.include({
      status: 'disabled',
      disabled_reason: 'disabled by hand',
    });
    await setDate(study);
    expect(await stage.admin.expect(200, 'PATCH', path, { status: 'active' })).to.include({
      status: 'active',
      disabled_reason: null,
    });
    await setDate(study);
    await settled(all.id, 2);
    expect(await deliveries(study, made.id)).to.deep.equal([]);
    for (const one of [made, all]) await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${one.id}`);
  });

  it('have two signatures while the secret is being replaced', async () => {
    const made = await subscribe(study, `${receiver.url}/rotated`);
    const rotated = await stage.admin.expect<{ secret: string; previous_secret_until: string }>(
      200,
      'POST',
      `${subscriptions(study)}/${made.id}/rotate-secret`,
    );
    expect(rotated.secret)
      .to.match(/^whsec_/)
      .and.not.equal(made.secret);
    await setDate(study);
    const [got] = await arrived('/rotated');
    for (const secret of [made.secret, rotated.secret])
      expect(verified(secret, got!).type).to.equal('ENROLLMENT_DATE_SET');
    await stage.sql(`update event_subscriptions set previous_secret_until = now() - interval '1 minute' where id = ?`, [
      made.id,
    ]);
    await setDate(study);
    const second = (await arrived('/rotated', 2))[1]!;
    expect(verified(rotated.secret, second).type).to.equal('ENROLLMENT_DATE_SET');
    expect(() => verified(made.secret, second)).to.throw();
    await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${made.id}`);
  });

  it('send a delivery again by hand: same id, same body', async () => {
    const made = await subscribe(study, `${receiver.url}/again`);
    await setDate(study);
    const [delivery] = await settled(made.id, 1);
    const answer = await stage.admin.post(`${subscriptions(study)}/${made.id}/deliveries/${delivery!.id}/redeliver`);
    expect([answer.status, answer.body.id]).to.deep.equal([202, delivery!.id]);
    const [first, second] = await arrived('/again', 2);
    expect(second!.body).to.equal(first!.body);
    expect(second!.headers['webhook-id']).to.equal(first!.headers['webhook-id']);
    expect(verified(made.secret, second!).id).to.equal(delivery!.event_id);
    expect((await settled(made.id, 1))[0]).to.include({ id: delivery!.id, attempts: 2 });
    await stage.admin.expect(200, 'PATCH', `${subscriptions(study)}/${made.id}`, { status: 'disabled' });
    expect(
      (await stage.admin.post(`${subscriptions(study)}/${made.id}/deliveries/${delivery!.id}/redeliver`)).body.code,
    ).to.equal('SUBSCRIPTION_DISABLED');
    await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${made.id}`);
  });

  it('are refused with what is wrong named', async () => {
    for (const [body, path] of [
      [{ url: `${receiver.url}/x`, events: ['ENROLLMENT_DATE_SET', 'SOMETHING_ELSE'] }, 'events.1'],
      [{ url: `${receiver.url}/x`, events: [] }, 'events'],
      [{ url: 'not a url', events: ALL }, 'url'],
      [{ url: 'ftp://example.org/x', events: ALL }, 'url'],
      [{ url: `${receiver.url}/x` }, 'events'],
      [{ url: `${receiver.url}/x`, events: ALL, secret: 'mine' }, 'secret'],
    ] as const) {
      const answer = await stage.admin.post(subscriptions(study), body);
      expect(
        [answer.status, ...new Set(answer.body.errors?.map((one) => one.path))],
        JSON.stringify(body),
      ).to.deep.equal([422, path]);
    }
    const answer = await stage.admin.post(subscriptions(study), { url: 'https://me:pass@example.org/x', events: ALL });
    expect([answer.status, answer.body.errors[0]!.code]).to.deep.equal([400, 'INVALID_URL']);
  });

  it('are refused on private addresses where ALLOW_PRIVATE_URLS forbids them', async () => {
    const api = await startApi({ ALLOW_PRIVATE_URLS: 'false' });
    try {
      const http = await admin(api.url);
      for (const url of [
        'http://127.0.0.1/x',
        'http://[::1]/x',
        'https://10.1.2.3/x',
        'http://localhost:9/x',
        'http://169.254.169.254/latest',
        'http://[::ffff:10.0.0.1]/x',
        'http://[::127.0.0.1]/x',
        'http://[::7f00:1]/x',
        'http://[0:0:0:0:0:0:0a00:0001]/x',
        'http://[64:ff9b::127.0.0.1]/x',
        'http://[64:ff9b:1::a00:1]/x',
        'http://[::ffff:0:127.0.0.1]/x',
        'http://[2002:7f00:1::]/x',
        'http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/x',
        'http://[2a00:1::5efe:10.0.0.1]/x',
        'http://[fec0::1]/x',
        'http://[4000::1]/x',
        'http://2130706433/x',
        'http://0x7f.1/x',
        'http://0177.0.0.1/x',
        'http://127.1/x',
        'http://127.0.0.1./x',
        'http://localhost./x',
        'http://ip6-localhost/x',
        'http://postgres:5432/x',
        'http://db.lan/x',
      ]) {
        const answer = await http.post(subscriptions(study), { url, events: ALL });
        expect([answer.status, answer.body.errors?.[0]?.code], url).to.deep.equal([400, 'PRIVATE_URL']);
      }
    } finally {
      await api.stop();
    }
  });

  it('that send in order go on so, whatever else of them changes', async () => {
    const { id } = await subscribe(study, `${receiver.url}/in-order`, { ordered: true });
    const path = `${subscriptions(study)}/${id}`;
    const changed = await stage.admin.expect(200, 'PATCH', path, { description: 'in order' });
    expect(changed).to.include({ description: 'in order', ordered: true });
    expect(await stage.admin.expect(200, 'PATCH', path, {})).to.deep.equal(changed);
    expect(await stage.admin.expect(200, 'PATCH', path, { ordered: false })).to.include({ ordered: false });
    await stage.admin.expect(204, 'DELETE', path);
  });

  it('are managed by researchers, read by data managers, and out of reach of other studies', async () => {
    const made = await subscribe(study, `${receiver.url}/roles`);
    const path = `${subscriptions(study)}/${made.id}`;
    const table: [Role, number, number][] = [
      ['researcher', 200, 200],
      ['data_manager', 200, 403],
      ['coordinator', 403, 403],
      ['investigator', 403, 403],
    ];
    for (const [role, reads, changes] of table) {
      const caller = await study.as(role);
      for (const get of [subscriptions(study), path, `${path}/deliveries`])
        expect((await caller.get(get)).status, `${role} ${get}`).to.equal(reads);
      expect((await caller.patch(path, { description: role })).status, role).to.equal(changes);
    }
    const stranger = await user(stage.admin, 'researcher', {
      study_ids: [(await stage.study(FINAL_AT_ONCE, { days: [] })).id],
    });
    expect((await stranger.get(path)).status).to.equal(404);
    expect((await study.audit('event_subscription_changed')).at(-1)).to.deep.include({ resource_id: made.id });
    const stale = await stage.admin.patch(path, { description: 'x' }, { headers: { 'If-Match': '"old"' } });
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'STALE']);
    await stage.admin.expect(204, 'DELETE', path);
  });
});
