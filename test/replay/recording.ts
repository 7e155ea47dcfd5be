import type { WorkflowHandle } from '@temporalio/client';
import {
  anchorState,
  auditVerificationId,
  overrideDecision,
  participantAnchorId,
  setEnrollmentDate,
  sourcesChanged,
  workflowTypes,
} from '../../workflows/contract.js';
import { addDays } from '../../workflows/domain/util/dates.js';
import { withSmallRuns } from '../anchor/small-runs.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { Stage as CaptureStage } from '../capture/support.js';
import { until } from '../support/service.js';

type Save = (name: string, handle: Pick<WorkflowHandle, 'fetchHistory'>) => Promise<void>;

/** Leads workflows through their branches, so that each branch has a history. */
export class Recording {
  private constructor(
    private readonly stage: Stage,
    private readonly capture: CaptureStage,
    private readonly study: AnchorStudy,
    private readonly save: Save,
  ) {}

  static async start(save: Save): Promise<Recording> {
    const stage = await Stage.open();
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      schedule_on_provisional: true,
      override_approval_timeout_hours: 2 / 3600,
      permissions: { can_override: ['admin', 'researcher'], override_requires_approval: true },
    });
    return new Recording(stage, await CaptureStage.set(), study, save);
  }

  async stop(): Promise<void> {
    await this.capture.clear();
    await this.stage.close();
  }

  /** By the names of the histories that each makes. */
  readonly branches: Record<string, () => Promise<void>> = {
    'anchor-proposed-changed-finalized': () =>
      this.anchor('anchor-proposed-changed-finalized', async (person) => {
        await person.set(DAY);
        await person.set('2024-03-12');
        await person.consent('2024-03-01T09:00:00Z');
        await person.becomes({ status: 'finalized' });
      }),
    'anchor-cancelled-and-proposed-again': () =>
      this.anchor('anchor-cancelled-and-proposed-again', async (person) => {
        await person.set(DAY);
        await person.post('/cancel', { reason: 'typed for somebody else' });
        await person.set('2024-03-12');
      }),
    'anchor-override-approved': () =>
      this.anchor('anchor-override-approved', async (person) => {
        const request = await this.requested(person);
        await this.stage.handle(person.id).signal(overrideDecision, {
          request_id: request,
          decision: 'approve',
          approver_user_id: (await this.study.as('researcher', 'second')).userId!,
          reason: 'seen',
        });
        await person.becomes({ is_override: true });
        await person.post('/override-back', { reason: 'wrong' });
        await person.post('/evaluate');
      }),
    'anchor-override-denied-after-refused-decisions': () =>
      this.anchor('anchor-override-denied-after-refused-decisions', async (person) => {
        const request = await this.requested(person);
        await this.stage.handle(person.id).signal(overrideDecision, {
          request_id: request,
          decision: 'approve',
          approver_user_id: (await this.study.as('researcher')).userId!,
        });
        await this.stage.handle(person.id).signal(sourcesChanged, 17 as never);
        await person.decide(request, 'deny', this.stage.admin, { reason: 'no' });
      }),
    'anchor-override-reminded-and-expired': () =>
      this.anchor('anchor-override-reminded-and-expired', async (person) => {
        await this.requested(person);
        await until(async () => (await person.history())[0]!.event_type === 'OVERRIDE_DENIED', {
          what: 'the request to expire',
        });
      }),
    'anchor-date-ahead': async () =>
      this.anchor(
        'anchor-date-ahead',
        async (person) => {
          const { id } = await person.consent(new Date(Date.now() + 2 * 86_400_000).toISOString());
          await until(async () => (await this.stage.handle(person.id).query(anchorState))?.date_ahead, {
            what: 'the day to be waited for',
          });
          await this.stage.admin.expect(200, 'PATCH', `${person.path}/consents/${id}`, { status: 'revoked' });
          await until(async () => (await this.stage.handle(person.id).query(anchorState))?.date_ahead === null, {
            what: 'the day to be waited for no more',
          });
        },
        await this.stage.study({ sources: [{ type: 'consent_workflow' }] }),
      ),
    'anchor-withdrawn-with-a-pending-override': () =>
      this.anchor('anchor-withdrawn-with-a-pending-override', async (person) => {
        await this.requested(person);
        await person.withdraw();
        await until(async () => (await this.stage.handle(person.id).describe()).status.name === 'COMPLETED', {
          what: 'the workflow to end',
        });
      }),
    'anchor-messages-at-once': () =>
      this.anchor('anchor-messages-at-once', async (person) => {
        await Promise.all([
          person.set(DAY),
          person.post('/evaluate'),
          person.set('2024-03-12'),
          person.consent('2024-03-01T09:00:00Z'),
          person.post('/evaluate'),
        ]);
        await person.becomes({ status: 'finalized' });
      }),
    'anchor-continued-as-new': () => this.manyRuns(),
    'anchor-long-run': () => this.longRun(),
    'study-reanchoring': () => this.studyReanchoring(),
    'datacapture-trigger': () => this.trigger(),
    'audit-verification': () => this.verification(),
  };

  private async anchor(name: string, life: (person: Person) => Promise<void>, study = this.study): Promise<void> {
    const person = await study.person();
    await life(person);
    await until(
      async () => (await this.stage.sql('select id from outbox where subject = ?', [person.id])).length === 0,
    );
    await this.save(name, this.stage.handle(person.id));
  }

  /** A final date with an override that waits for its decision. */
  private async requested(person: Person): Promise<string> {
    await person.consent('2024-03-01T09:00:00Z');
    await person.set(DAY);
    return (await person.override('2024-03-17', await this.study.as('researcher'))).body.override_request_id;
  }

  private async manyRuns(): Promise<void> {
    const person = await this.study.person();
    await withSmallRuns(this.stage, async (environment, messages) => {
      for (let i = 0; i < 10; i++) {
        await messages.update(
          setEnrollmentDate,
          { participant_id: person.id, study_id: this.study.id },
          { enrollment_date: addDays(DAY, i), actor_user_id: this.stage.admin.userId! },
          `set-${i}`,
        );
      }
      const last = environment.client.workflow.getHandle(participantAnchorId(person.id));
      const first = (await last.describe()).raw.workflowExecutionInfo!.firstRunId!;
      await this.save(
        'anchor-continued-as-new',
        environment.client.workflow.getHandle(participantAnchorId(person.id), first),
      );
    });
  }

  private async longRun(): Promise<void> {
    const person = await this.study.person();
    const first = (await until(() => this.stage.handle(person.id).describe(), { what: 'the workflow' })).runId;
    for (let i = 0; i < 40; i++) await person.post('/evaluate');
    await this.save('anchor-long-run', this.stage.temporal.workflow.getHandle(participantAnchorId(person.id), first));
  }

  private async studyReanchoring(): Promise<void> {
    const person = await this.study.person();
    await person.set(DAY);
    await this.study.window(60);
    await until(async () => (await person.standing()).length === 3, { what: 'the new window to reach the schedule' });
    const run = await until(
      async () => {
        for await (const found of this.stage.temporal.workflow.list({
          query: `WorkflowType = '${workflowTypes.studyReanchoring}' AND ExecutionStatus = 'Completed'`,
        })) {
          if (found.workflowId.includes(this.study.id)) return found;
        }
        return undefined;
      },
      { interval: 500, what: 'the re-anchoring to end' },
    );
    await this.save('study-reanchoring', this.stage.temporal.workflow.getHandle(run.workflowId, run.runId));
  }

  private async verification(): Promise<void> {
    const { verification_id, status_url } = await this.stage.admin.expect<{
      verification_id: string;
      status_url: string;
    }>(202, 'POST', '/api/audit-verifications', {});
    await until(async () => (await this.stage.admin.expect(200, 'GET', status_url)).status === 'completed', {
      what: 'the verification to end',
    });
    const handle = this.stage.temporal.workflow.getHandle(auditVerificationId(verification_id));
    await handle.result();
    await this.save('audit-verification', handle);
  }

  private async trigger(): Promise<void> {
    const study = await this.capture.study();
    await study.enroll('R-1', { enrolled: '2024-03-10', code: 'R-1' });
    const [event] = await study.settled(1);
    await this.save('datacapture-trigger', this.stage.temporal.workflow.getHandle(`datacapture-trigger/${event!.id}`));
  }
}
