import { expect } from 'chai';
import fc from 'fast-check';
import { overrideDecision, sourcesChanged } from '../../workflows/contract.js';
import { brokenInvariants } from '../anchor/invariants.js';
import { Stage, patiently } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import type { Http } from '../support/http.js';
import { until } from '../support/service.js';
import { dayNumber } from './model.js';

const RUNS = Number(process.env.SERVICE_PROPERTY_RUNS ?? 8);
/** What a message of a random order may be answered: done, or refused for a reason that the contract names. */
const FINE = [200, 201, 202, 400, 409];

type Message =
  | { kind: 'set' | 'override'; date: string }
  | { kind: 'consent' | 'eligible'; at: string }
  | { kind: 'approve' | 'deny'; how: 'rest' | 'signal' }
  | { kind: 'cancel' | 'override-back' | 'evaluate' | 'sources signal' | 'revoke' | 'workflow lost' | 'withdraw' }
  | { kind: 'complete'; index: number }
  | { kind: 'window'; day: number };

const day = fc.integer({ min: 0, max: 500 }).map(dayNumber);
const message: fc.Arbitrary<Message> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('set' as const, 'override' as const), date: day }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('consent' as const, 'eligible' as const),
      at: day.map((d) => `${d}T10:00:00Z`),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('approve' as const, 'deny' as const),
      how: fc.constantFrom('rest' as const, 'signal' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('complete' as const), index: fc.nat({ max: 5 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'cancel' as const,
        'override-back' as const,
        'evaluate' as const,
        'sources signal' as const,
        'revoke' as const,
        'workflow lost' as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('window' as const), day: fc.integer({ min: 0, max: 60 }) }) },
);
/** Messages of one burst are sent at the same time. */
const life = fc.record({
  approval: fc.boolean(),
  bursts: fc.array(fc.array(message, { minLength: 1, maxLength: 4 }), { minLength: 3, maxLength: 6 }),
  withdraws: fc.boolean(),
});

describe('properties of the running service, over random message orders by HTTP and signals', function () {
  this.timeout(180_000);
  let stage: Stage;
  let studies: Record<'true' | 'false', { study: AnchorStudy; window: string; approver: Http }>;

  before(async () => {
    stage = await Stage.open();
    const arranged = async (approval: boolean) => {
      const study = await stage.study(
        {
          sources: [{ type: 'manual_entry' }, { type: 'eligibility_workflow' }, { type: 'consent_workflow' }],
          validation: { cannot_precede_consent: false },
          permissions: { can_override: ['admin', 'researcher'], override_requires_approval: approval },
          schedule_on_provisional: approval,
        },
        { days: [0, 14, 90] },
      );
      const moving = await study.window(30, { code: 'MOVING' });
      return { study, window: moving.id, approver: await study.as('researcher') };
    };
    studies = { true: await arranged(true), false: await arranged(false) };
  });
  after(() => stage.close());

  async function send(
    person: Person,
    kind: Message,
    at: { window: string; approver: Http },
    completed: Map<string, string>,
  ): Promise<number> {
    const handle = stage.handle(person.id);
    switch (kind.kind) {
      case 'set':
        return (await person.set(kind.date)).status;
      case 'override':
        return (await person.override(kind.date)).status;
      case 'consent':
        return (await stage.admin.post(`${person.path}/consents`, { status: 'signed', signed_at: kind.at })).status;
      case 'eligible':
        return (await stage.admin.put(`${person.path}/eligibility`, { status: 'eligible', confirmed_at: kind.at }))
          .status;
      case 'cancel':
      case 'evaluate':
        return (await person.post(`/${kind.kind}`)).status;
      case 'override-back':
        return (await person.post('/override-back', { reason: 'back' })).status;
      case 'withdraw':
        return (await stage.admin.post(`/api/participants/${person.id}/withdraw`, { reason: 'left' })).status;
      case 'window':
        return (await stage.admin.patch(`/api/schedules/windows/${at.window}`, { target_day: kind.day })).status;
      case 'revoke': {
        const [consent] = await stage.sql<{ id: string }>(
          `select id from consents where participant_id = ? and status = 'signed' limit 1`,
          [person.id],
        );
        return consent
          ? (await stage.admin.patch(`${person.path}/consents/${consent.id}`, { status: 'revoked' })).status
          : 200;
      }
      case 'approve':
      case 'deny': {
        const [request] = await stage.sql<{ id: string }>(
          `select id from override_requests where participant_id = ? and status = 'pending'`,
          [person.id],
        );
        if (!request) return 200;
        if (kind.how === 'rest') return (await person.decide(request.id, kind.kind, at.approver)).status;
        await ifRunning(
          handle.signal(overrideDecision, {
            request_id: request.id,
            decision: kind.kind,
            approver_user_id: at.approver.userId!,
            reason: 'seen',
          }),
        );
        return 200;
      }
      case 'complete': {
        const live = await stage.sql<{ id: string }>(
          `select id from scheduled_visits where participant_id = ? and status in ('scheduled', 'open', 'missed') order by visit_key`,
          [person.id],
        );
        const chosen = live[kind.index % Math.max(live.length, 1)];
        if (!chosen) return 200;
        const { status, body } = await stage.admin.post<{ completed_at: string }>(
          `/api/visits/${chosen.id}/complete`,
          {},
        );
        if (status === 200) completed.set(chosen.id, body.completed_at);
        return status;
      }
      case 'sources signal':
        await ifRunning(handle.signal(sourcesChanged, {}));
        return 200;
      case 'workflow lost':
        await ifRunning(handle.terminate('lost'));
        return 200;
    }
  }

  it('one current version where final, gap-free history, one live visit per visit_key, every completion there, the chain whole', async () => {
    await fc.assert(
      fc.asyncProperty(life, async ({ approval, bursts, withdraws }) => {
        const at = studies[`${approval}`];
        const person = await at.study.person();
        const completed = new Map<string, string>();
        for (const burst of withdraws ? [...bursts, [{ kind: 'withdraw' } as const, ...bursts[0]!]] : bursts) {
          const statuses = await Promise.all(
            burst.map((one) => patiently(async () => ({ status: await send(person, one, at, completed) }))),
          );
          statuses.forEach((status, i) => expect(FINE, JSON.stringify(burst[i])).to.include(status));
          expect(await brokenInvariants(stage, at.study.id), 'right after').to.deep.equal([]);
        }
        await until(
          async () =>
            (await stage.sql('select id from outbox where subject in (?, ?)', [person.id, at.study.id])).length === 0,
          { what: 'messages to be delivered' },
        );
        expect(await brokenInvariants(stage, at.study.id), 'at rest').to.deep.equal([]);
        const kept = await stage.sql<{ id: string; completed_at: string }>(
          `select id, completed_at from scheduled_visits where participant_id = ? and status = 'completed'`,
          [person.id],
        );
        expect(new Map(kept.map((v) => [v.id, v.completed_at])), 'completions').to.deep.equal(completed);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    for (const { study } of Object.values(studies)) expect(await study.chainVerifies()).to.equal(true);
  });

  it('a changed window reaches every schedule, and what fits already gets no new version', async () => {
    const { study, window } = studies.true;
    const person = await study.person();
    await person.set('2024-03-10');
    await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${window}`, { target_day: 77 });
    await until(async () => (await person.standing()).some((v) => v.target_date === '2024-05-26'), {
      what: 'the moved visit',
    });
    const versions = (await person.versions()).length;
    await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${window}`, { sort_order: 5 });
    await until(async () => (await stage.sql('select id from outbox where subject = ?', [study.id])).length === 0);
    await person.settled();
    expect(await person.versions()).to.have.length(versions);
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
  });
});

/** A message to a workflow that has ended or was lost goes nowhere, and that is fine. */
async function ifRunning(sent: Promise<unknown>): Promise<void> {
  await sent.catch((fault: Error) => {
    if (fault.name !== 'WorkflowNotFoundError') throw fault;
  });
}
