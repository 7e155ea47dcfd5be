import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

/** A deadlock, or a lock that was waited for too long. */
const OF_THE_MOMENT = ['40P01', '55P03'],
  TRIES = 5;

/**
 * What must hold whatever the code above the database does: tried with the application role's own rights, and the
 * owner's.
 */
describe('the database holds by its own force', () => {
  let app: Database;
  let owner: Database;
  const study = randomUUID(),
    other = randomUUID(),
    participant = randomUUID();
  let anchor: string;

  before(async () => {
    const { database_url } = await service();
    app = openDatabase({ url: database_url, name: 'invariants-app', poolMax: 2 });
    owner = openDatabase({ url: database_url, name: 'invariants-owner', asOwner: true, poolMax: 2 });
    await withStudyScope(owner, '*', async ({ tx }) => {
      for (const id of [study, other])
        await tx('studies').insert({ id, study_code: id.slice(0, 13), study_name: 'invariants' });
      await tx('participants').insert({ id: participant, study_id: study, participant_code: 'P1' });
      [{ id: anchor }] = await tx('anchor_dates')
        .insert({ participant_id: participant, study_id: study })
        .returning('id');
    });
  });
  after(() => Promise.all([app.destroy(), owner.destroy()]));

  const tried = async (db: Database, work: (tx: Tx) => Promise<unknown>, scope: string): Promise<string> => {
    const fault = await withStudyScope(db, scope, ({ tx }) => work(tx)).then(
      () => undefined,
      (e: { code?: string }) => e,
    );
    return fault?.code ?? 'done';
  };
  /** What the database says; where it chose among transactions of the service beside this one, it is asked again. */
  const refusal = async (db: Database, work: (tx: Tx) => Promise<unknown>, scope: string = study): Promise<string> => {
    for (let i = 1; ; i += 1) {
      const code = await tried(db, work, scope);
      if (!OF_THE_MOMENT.includes(code) || i === TRIES) return code;
    }
  };
  const version = (n: number, current: boolean) => ({
    participant_id: participant,
    study_id: study,
    version_number: n,
    is_current: current,
    anchor_date_used: '2026-01-01',
    anchor_version: 1,
    anchor_date_id: anchor,
    ...(current ? {} : { status: 'superseded', superseded_at: '2026-01-02T00:00:00Z' }),
  });

  it('shows nothing to a query that forgot its filter, and takes no row of another study', async () => {
    expect(await withStudyScope(app, other, ({ tx }) => tx('participants').select('id'))).to.deep.equal([]);
    expect(await app('participants').select('id'), 'no scope at all').to.deep.equal([]);
    expect(await withStudyScope(app, study, ({ tx }) => tx('participants').pluck('id'))).to.deep.equal([participant]);
    expect(await refusal(app, (tx) => tx('sites').insert({ study_id: other, site_code: 'X' }))).to.equal('42501');
    expect(
      await withStudyScope(app, other, ({ tx }) => tx('participants').where({ id: participant }).update({ arm: 'x' })),
    ).to.equal(0);
  });

  it('tells how much a study holds only to who sees all of it', async () => {
    const sizeOf = async (tx: Tx) =>
      (await tx.raw('select participants, sessions, visits from study_size(?)', [study])).rows;
    const whole = [{ participants: 1, sessions: 0, visits: 0 }];
    for (const scope of [study, [other, study], '*'])
      expect(await withStudyScope(app, scope, ({ tx }) => sizeOf(tx)), String(scope)).to.deep.equal(whole);
    for (const scope of [other, []])
      expect(await withStudyScope(app, scope, ({ tx }) => sizeOf(tx)), `scope [${String(scope)}]`).to.deep.equal([]);
    for (const narrowed of [study, other]) {
      expect(
        await withStudyScope(app, [study, other], async ({ tx }) => {
          await tx.raw(`select set_config('app.site_studies', ?, true)`, [narrowed]);
          return sizeOf(tx);
        }),
        `narrowed to sites of ${narrowed}`,
      ).to.deep.equal([]);
    }
  });

  it('allows one current schedule version for each participant', async () => {
    expect(
      await refusal(app, async (tx) => {
        await tx('schedule_versions').insert(version(1, true));
        await tx('schedule_versions').insert(version(2, true));
      }),
    ).to.equal('23505');
    expect(
      await refusal(app, async (tx) => {
        await tx('schedule_versions').insert(version(1, false));
        await tx('schedule_versions').insert(version(1, true));
      }),
      'the same number twice',
    ).to.equal('23505');
    expect(
      await refusal(app, (tx) =>
        tx('schedule_versions').insert({
          ...version(1, true),
          status: 'superseded',
          superseded_at: '2026-01-01T00:00:00Z',
        }),
      ),
      'current but superseded',
    ).to.equal('23514');
  });

  it('allows one visit that counts for each visit_key', async () => {
    const visit = {
      visit_key: randomUUID(),
      study_id: study,
      participant_id: participant,
      name: 'V',
      target_date: '2026-01-01',
      window_open: '2026-01-01',
      window_close: '2026-01-02',
    };
    expect(
      await refusal(app, async (tx) => {
        await tx('scheduled_visits').insert({ ...visit, status: 'completed', completed_at: '2026-01-01T00:00:00Z' });
        await tx('scheduled_visits').insert(visit);
      }),
    ).to.equal('23505');
    expect(
      await refusal(app, (tx) => tx('scheduled_visits').insert({ ...visit, status: 'completed' })),
      'completed without a time',
    ).to.equal('23514');
  });

  it('keeps four eyes on an override', async () => {
    const user = randomUUID();
    const request = {
      study_id: study,
      participant_id: participant,
      previous_enrollment_date: '2026-01-01',
      new_enrollment_date: '2026-01-02',
      requested_by_id: user,
      remind_at: '2026-01-01T00:00:00Z',
      expires_at: '2026-01-02T00:00:00Z',
      impact: '{}',
      preview_hash: 'x',
    };
    expect(
      await refusal(app, (tx) =>
        tx('override_requests').insert({
          ...request,
          status: 'approved',
          decided_by_id: user,
          decided_at: '2026-01-01T00:00:00Z',
        }),
      ),
      'who asked decides',
    ).to.equal('23514');
    expect(
      await refusal(app, (tx) =>
        tx('override_requests').insert({ ...request, status: 'approved', decided_at: '2026-01-01T00:00:00Z' }),
      ),
      'nobody decided',
    ).to.equal('23514');
    expect(
      await refusal(app, async (tx) => {
        await tx('override_requests').insert(request);
        await tx('override_requests').insert(request);
      }),
      'two pending',
    ).to.equal('23505');
    const overridden = {
      status: 'finalized',
      enrollment_date_value: '2026-01-01',
      source_type: 'override',
      finalized_at: '2026-01-01T00:00:00Z',
      is_override: true,
      override_actor_id: user,
      override_at: '2026-01-01T00:00:00Z',
    };
    expect(
      await refusal(app, (tx) =>
        tx('anchor_dates')
          .where({ participant_id: participant })
          .update({
            ...overridden,
            override_approved: true,
            override_approved_by_id: user,
            override_approved_at: '2026-01-01T00:00:00Z',
          }),
      ),
    ).to.equal('23514');
  });

  it('only inserts history and audit records, also against the owner', async () => {
    const history = {
      anchor_date_id: anchor,
      participant_id: participant,
      study_id: study,
      event_type: 'SET',
      anchor_version: 2,
      precision: 'date',
      status_after: 'finalized',
      source_type: 'manual_entry',
      actor_type: 'user',
    };
    await withStudyScope(app, study, async ({ tx, audit }) => {
      await tx('anchor_date_history').insert(history);
      audit.record({
        study_id: study,
        user_id: null,
        action: 'tried',
        resource_type: 'test',
        resource_id: null,
        metadata: { n: 1 },
      });
    });
    for (const [name, db] of [
      ['application', app],
      ['owner', owner],
    ] as const) {
      for (const table of [
        'anchor_date_history',
        'audit_log',
        'anchor_decisions',
        'domain_events',
        'audit_checkpoints',
      ]) {
        if (db === owner && !['anchor_date_history', 'audit_log'].includes(table)) continue;
        expect(
          await refusal(db, (tx) =>
            tx.raw(
              `update ${table} set study_id = study_id`.replace(
                'audit_checkpoints set study_id = study_id',
                'audit_checkpoints set seq = seq',
              ),
            ),
          ),
          `${name}: update ${table}`,
        ).to.equal('42501');
        expect(await refusal(db, (tx) => tx(table).delete()), `${name}: delete ${table}`).to.equal('42501');
        expect(await refusal(db, (tx) => tx.raw(`truncate ${table} cascade`)), `${name}: truncate ${table}`).to.equal(
          '42501',
        );
      }
    }
    expect(
      await refusal(app, (tx) =>
        tx('audit_log').insert({
          seq: 99,
          chain: study,
          study_id: study,
          action: 'forged',
          resource_type: 'x',
          created_at: '2026-01-01T00:00:00Z',
          prev_hash: 'a'.repeat(64),
          hash: 'b'.repeat(64),
        }),
      ),
      'a forged record',
    ).to.equal('42501');
  });

  it('commits no change whose audit record cannot be written', async () => {
    const fault = await withStudyScope(app, study, async ({ tx, audit }) => {
      await tx('sites').insert({ study_id: study, site_code: 'UNRECORDED' });
      audit.record({
        study_id: study,
        user_id: null,
        action: 'x'.repeat(200),
        resource_type: 'test',
        resource_id: null,
      });
    }).then(
      () => undefined,
      (e: { code?: string }) => e,
    );
    expect(fault?.code).to.equal('22001');
    expect(await withStudyScope(app, study, ({ tx }) => tx('sites').where({ site_code: 'UNRECORDED' }))).to.deep.equal(
      [],
    );
  });
});
