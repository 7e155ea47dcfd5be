import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { openDatabase } from '../../db/client/knex.js';
import { migrate } from '../../db/migrate.js';
import { hashPassword } from '../../db/identity/passwords.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { startApi } from '../support/api-process.js';
import { goodPassword, login } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { PEOPLE, contents, digest, firstData, firstSchema } from './first-release.js';
import type { Database } from '../../db/client/database.js';

const CLIENTS = 3;
/** Clients that pause leave the processor to the migrations, which then wait for them no less. */
const BETWEEN_MS = asMuchAs(5, 0);
/** Tables of features that this study does not use; checkpoints no release wrote before they were signed. */
const UNUSED = [
  'audit_checkpoints',
  'event_definitions',
  'holiday_calendars',
  'portal_links',
  'simulations',
  'sync_conflicts',
];
/** Less than a request of the API waits for a lock (REQUEST_TIMEOUT_SECONDS). */
const LONGEST_MS = 8_000;

describe('A database of the first release is brought to the newest schema while it is worked on', function () {
  this.timeout(180_000);
  const name = `first_${process.pid}`,
    study = randomUUID(),
    other = randomUUID();
  const admin = { id: randomUUID(), email: 'first@example.org', password_hash: '' };
  let server: pg.Client, url: string, owner: Database, application: Database;
  before(async () => {
    const at = new URL((await service()).database_url);
    server = new pg.Client({ connectionString: at.toString() });
    await server.connect();
    await server.query(`create database ${name}`);
    at.pathname = `/${name}`;
    url = at.toString();
    owner = openDatabase({ url, name: 'upgrade-owner', asOwner: true, poolMax: 4 });
    application = openDatabase({ url, name: 'upgrade-traffic', poolMax: CLIENTS + 1 });
    await firstSchema(owner);
    admin.password_hash = await hashPassword(goodPassword);
    await firstData(owner, study, admin);
    await withStudyScope(owner, '*', ({ tx }) =>
      tx('studies').insert({ id: other, study_code: 'OTHER', study_name: 'Worked on meanwhile' }),
    );
  });
  after(async () => {
    await Promise.all([application?.destroy(), owner?.destroy()]);
    await server.query(`drop database if exists ${name} with (force)`);
    await server.end();
  });

  it('no statement of the running release fails or waits for long, all data is as it was, and the newest release goes on with it', async () => {
    const before = await contents(owner, study);
    expect(
      before.filter(({ rows }) => rows === 0).map(({ table }) => table),
      'tables of the first release without data',
    ).to.have.members(UNUSED);
    const faults: string[] = [];
    let stopping = false,
      done = 0,
      longest = 0;
    /**
     * What the first release's processes did all day: transactions over several tables, in the order in which they did
     * it.
     */
    const traffic = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = 0; !stopping; n += 1) {
        const began = performance.now();
        try {
          await withStudyScope(application, other, async ({ tx }) => {
            const [{ id }] = (await tx('participants')
              .insert({ study_id: other, participant_code: `U-${client}-${n}` })
              .returning('id')) as [{ id: string }];
            await tx('anchor_dates').insert({ study_id: other, participant_id: id });
            await tx('consents').insert({
              study_id: other,
              participant_id: id,
              status: 'signed',
              signed_at: '2024-03-01T09:00:00Z',
            });
            await tx('outbox').insert({ topic: 'sources-changed', study_id: other, subject: id });
            await tx('notifications').insert({
              study_id: other,
              participant_id: id,
              kind: 'override_requested',
              channel: 'email',
              dedupe_key: `u-${client}-${n}`,
            });
            await tx('domain_events').insert({ type: 'ENROLLMENT_DATE_SET', study_id: other, participant_id: id });
            // As that release sealed its records: the metadata within the entries.
            const record = {
              user_id: admin.id,
              action: 'participant_created',
              resource_type: 'participant',
              resource_id: id,
              metadata: '{}',
              request_id: null,
            };
            await tx.raw('select audit_append(?, ?::jsonb)', [other, JSON.stringify([record])]);
          });
          await readInScope(application, other, (tx) =>
            tx('anchor_dates as a')
              .join('participants as p', 'p.id', 'a.participant_id')
              .select('p.participant_code', 'a.status')
              .limit(50),
          );
          done += 1;
        } catch (fault) {
          faults.push(`${(fault as { code?: string }).code}: ${(fault as Error).message}`);
        }
        longest = Math.max(longest, performance.now() - began);
        if (BETWEEN_MS > 0) await sleep(BETWEEN_MS);
      }
    });
    await until(() => done > CLIENTS, { what: 'traffic' });
    // One that comes to the tables in another order than the migrations: it holds what they need, and needs what they
    // hold.
    let migrating: ReturnType<typeof migrate> | undefined;
    await readInScope(application, other, async (tx) => {
      await tx('consents').select('id').limit(1);
      migrating = migrate(url);
      // How it ends is looked at below.
      migrating.catch(() => undefined);
      await until(
        async () =>
          (
            await owner.raw(
              `select from pg_locks l join pg_stat_activity a using (pid) where a.application_name = 'migrate' and not l.granted and l.relation = 'consents'::regclass`,
            )
          ).rows.length > 0,
        { interval: 10, what: 'the migrations to wait' },
      );
      for (const table of ['notifications', 'anchor_dates']) await tx(table).select('id').limit(1);
    }).catch((fault: Error) => faults.push(fault.message));
    const { applied } = await migrating!,
      then = done;
    await until(() => done > then + CLIENTS, { what: 'traffic' });
    stopping = true;
    await Promise.all(traffic);
    expect(applied).to.have.length.above(20);
    expect(faults, 'what a client would have seen').to.deep.equal([]);
    expect(longest, 'nobody waits for longer').to.be.below(LONGEST_MS);
    const after = await Promise.all(before.map(({ table, columns }) => digest(owner, study, table, columns)));
    expect(after).to.deep.equal(before);

    const api = await startApi({ DATABASE_URL: url });
    try {
      const { http } = await login(api.url, admin.email, goodPassword);
      const { total } = await http.expect<Loose>(200, 'GET', `/api/studies/${study}/participants?limit=1`);
      expect(total).to.equal(PEOPLE);
      const {
        items: [person],
      } = await http.expect<Loose>(200, 'GET', `/api/studies/${study}/participants?search=P-1&limit=1`);
      const path = `/api/studies/${study}/participants/${person!.id}`;
      expect(await http.expect<Loose>(200, 'GET', `${path}/anchor-date`)).to.include({
        enrollment_date: '2024-03-10',
        status: 'finalized',
        version: 2,
      });
      expect(await http.expect<Loose[]>(200, 'GET', `${path}/anchor-date/history`)).to.have.length(1);
      await http.expect(201, 'POST', `${path}/consents`, { status: 'signed', signed_at: '2024-03-05T09:00:00Z' });
      for (const id of [study, other])
        expect(
          (await http.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${id}`)).valid,
          'its audit',
        ).to.equal(true);
    } finally {
      await api.stop();
    }
  });
});
