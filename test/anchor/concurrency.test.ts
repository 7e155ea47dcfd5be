import { expect } from 'chai';
import { overrideDecision, sourcesChanged } from '../../workflows/contract.js';
import { addDays } from '../../workflows/domain/util/dates.js';
import { asMuchAs } from '../support/in-full.js';
import { until } from '../support/service.js';
import { brokenInvariants } from './invariants.js';
import { DAY, Stage, patiently } from './stage.js';
import type { AnchorStudy } from './stage.js';

/** Many more than are carried out at once. */
const WRITERS = asMuchAs(100, 200);

describe('a hundred writers or more on one participant at once', function () {
  let stage: Stage;
  let study: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(
      {
        sources: [{ type: 'manual_entry' }, { type: 'consent_workflow' }],
        validation: { cannot_precede_consent: false },
        schedule_on_provisional: true,
        permissions: { can_override: ['admin', 'researcher'], override_requires_approval: true },
      },
      { days: [0, 14, 30] },
    );
  });
  after(() => stage.close());

  it('proposals alone: every one is in the history, in one line, and the last one counts', async () => {
    const person = await study.person();
    const dates = Array.from({ length: WRITERS }, (_, i) => addDays(DAY, i));
    const statuses = await Promise.all(
      dates.map((date) =>
        patiently(() =>
          person.post('', { enrollment_date: date }, undefined, {
            headers: { 'Idempotency-Key': `${person.id}-${date}` },
          }),
        ),
      ),
    );
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
    const history = await stage.sql<{
      event_type: string;
      anchor_version: number;
      enrollment_date_value: string;
      previous_enrollment_date: string | null;
    }>(
      'select event_type, anchor_version, enrollment_date_value, previous_enrollment_date from anchor_date_history where participant_id = ? order by seq',
      [person.id],
    );
    expect(history.map((h) => h.anchor_version)).to.deep.equal(dates.map((_, i) => i + 2));
    expect(history.map((h) => h.enrollment_date_value)).to.have.members(dates);
    history
      .slice(1)
      .forEach((entry, i) => expect(entry.previous_enrollment_date).to.equal(history[i]!.enrollment_date_value));
    expect(await person.anchor()).to.include({
      enrollment_date: history.at(-1)!.enrollment_date_value,
      version: WRITERS + 1,
      status: 'provisional',
    });
    expect((await person.versions()).filter((v) => v.is_current)).to.have.length(1);
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
  });

  it('proposals, sources, overrides, decisions, completions by HTTP and by signal: one consistent state, gap-free history', async () => {
    const person = await study.person();
    await person.set(DAY);
    const researcher = await study.as('researcher');
    const completed = new Set<string>();
    const writers: ((i: number) => Promise<number>)[] = [
      (i) => patiently(() => person.set(addDays(DAY, i))),
      (i) =>
        patiently(() =>
          stage.admin.post(`${person.path}/consents`, { status: 'signed', signed_at: `${addDays(DAY, i)}T10:00:00Z` }),
        ),
      (i) => patiently(() => person.override(addDays(DAY, i), researcher)),
      async () => {
        const [request] = await stage.sql<{ id: string }>(
          `select id from override_requests where participant_id = ? and status = 'pending'`,
          [person.id],
        );
        return request ? patiently(() => person.decide(request.id, 'approve', stage.admin)) : 409;
      },
      async () => {
        const [request] = await stage.sql<{ id: string }>(
          'select id from override_requests where participant_id = ? order by requested_at desc limit 1',
          [person.id],
        );
        await stage.handle(person.id).signal(overrideDecision, {
          request_id: request?.id ?? 'none',
          decision: 'deny',
          approver_user_id: stage.admin.userId!,
          reason: 'no',
        });
        return 200;
      },
      async () => {
        await stage.handle(person.id).signal(sourcesChanged, {});
        return 200;
      },
      () => patiently(() => person.post('/override-back', { reason: 'back' })),
      () => patiently(() => person.post('/evaluate')),
      async (i) => {
        const live = await stage.sql<{ id: string }>(
          `select id from scheduled_visits where participant_id = ? and status = 'scheduled' order by visit_key`,
          [person.id],
        );
        const one = live[i % Math.max(live.length, 1)];
        if (!one) return 200;
        const status = await patiently(() => stage.admin.post(`/api/visits/${one.id}/complete`, {}));
        if (status === 200) completed.add(one.id);
        return status;
      },
    ];
    const statuses = await Promise.all(Array.from({ length: WRITERS }, (_, i) => writers[i % writers.length]!(i)));
    for (const status of new Set(statuses)) expect([200, 201, 202, 400, 403, 409]).to.include(status);
    await until(async () => (await stage.sql('select id from outbox where subject = ?', [person.id])).length === 0, {
      what: 'messages to be delivered',
    });
    await person.settled();
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
    const kept = await stage.sql<{ id: string }>(
      `select id from scheduled_visits where participant_id = ? and status = 'completed'`,
      [person.id],
    );
    expect(new Set(kept.map((v) => v.id)), 'every completion').to.deep.equal(completed);
    expect(await study.chainVerifies()).to.equal(true);
  });
});
