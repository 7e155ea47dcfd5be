import type { WorkflowHandle } from '@temporalio/client';
import { Stage } from '../anchor/stage.js';
import { PushStage } from '../capture/push-stage.js';
import type { PushStudy } from '../capture/push-stage.js';
import { Stage as CaptureStage, synced } from '../capture/support.js';
import type { CaptureStudy } from '../capture/support.js';
import { FINAL_AT_ONCE, deliveries, setDate, subscribe } from '../events/stage.js';
import type { Loose } from '../support/http.js';
import { Receiver } from '../support/receiver.js';
import { until } from '../support/until.js';
import * as contract from '../../workflows/contract.js';

export type Save = (name: string, handle: Pick<WorkflowHandle, 'fetchHistory'>) => Promise<void>;

/** Settings under which an outage, a retention and a poll are over in seconds. */
export const QUICK = {
  DATACAPTURE_BREAKER_FAILURES: '50',
  PUSH_RETRY_INITIAL_SECONDS: '0.2',
  EVENT_RETRY_INITIAL_SECONDS: '0.2',
  EXPORT_RETENTION_HOURS: '0.001',
  REMINDER_INTERVAL_SECONDS: '3600',
};

/**
 * Leads the workflows beside the anchor's through their branches: capture system, pushes, events, exports, simulations,
 * jobs.
 */
export class OtherRecording {
  private constructor(
    private readonly stage: Stage,
    private readonly capture: CaptureStage,
    private readonly pushes: PushStage,
    private readonly save: Save,
  ) {}

  static async start(save: Save): Promise<OtherRecording> {
    return new OtherRecording(await Stage.open(), await CaptureStage.set(), await PushStage.set(), save);
  }
  async stop(): Promise<void> {
    await this.pushes.clear();
    await this.capture.clear();
    await this.stage.close();
  }

  /** By the names of the histories that each makes. */
  readonly branches: Record<string, () => Promise<void>> = {
    'datacapture-trigger-local': () =>
      this.trigger('datacapture-trigger-local', async (study) => study.enroll('R-1', { enrolled: '2024-03-10' })),
    'datacapture-trigger-after-an-outage': () =>
      this.trigger('datacapture-trigger-after-an-outage', async (study) => {
        this.capture.simulator.control.setFaults([
          { project_id: Number(study.projectId), content: ['record'], status: 503, times: 3 },
        ]);
        await study.enroll('R-1', { enrolled: '2024-03-10' });
      }),
    'datacapture-trigger-failed': () =>
      this.trigger('datacapture-trigger-failed', async (study) => {
        await study.trigger({ record: 'NOBODY' });
      }),
    'datacapture-query': async () => {
      const study = await this.capture.study();
      await this.saveRun('datacapture-query', 'datacaptureQuery', () => study.id !== '');
    },
    'datacapture-sync': async () => {
      const study = await this.capture.study();
      for (const record of ['R-1', 'R-2']) await study.enroll(record, { enrolled: '2024-03-10' }, { trigger: false });
      await this.handle('datacapture-sync', contract.datacaptureSyncId((await synced(study)).id));
    },
    'datacapture-sync-failed': async () => {
      const study = await this.capture.study();
      this.capture.simulator.control.setFaults([{ project_id: Number(study.projectId), status: 403 }]);
      const report = await synced(study);
      if (report.status !== 'failed') throw new Error(`the sync is ${report.status}`);
      await this.handle('datacapture-sync-failed', contract.datacaptureSyncId(report.id));
    },
    'datacapture-poll': async () => {
      const study = await this.capture.study();
      await study.enroll('R-1', { enrolled: '2024-03-10' }, { trigger: false });
      await study.configure({ poll_interval_minutes: 0.05 });
      await until(async () => (await study.participants()).length > 0, { what: 'the poll to find the record' });
      await study.configure({ poll_interval_minutes: 0 });
      await this.saveRun('datacapture-poll', contract.workflowTypes.datacapturePoll, (id) =>
        id.startsWith(contract.datacapturePollId(study.id)),
      );
    },
    'push-results': () => this.push('push-results', async () => {}),
    'push-results-after-an-outage': () =>
      this.push('push-results-after-an-outage', async (study) => study.fault({ status: 503, times: 2 })),
    'push-results-refused': () =>
      this.push('push-results-refused', async (study) =>
        study.fault({ status: 400, content: ['record:import'], message: 'no' }),
      ),
    'push-results-refused-and-told': () =>
      this.push('push-results-refused-and-told', async (study) =>
        study.fault({ status: 400, content: ['record:import'], message: 'no' }),
      ),
    'push-results-cancelled': () =>
      this.push('push-results-cancelled', async (study) => study.fault({ status: 503 }), true),
    'event-delivery': async () => {
      const study = await this.stage.study(FINAL_AT_ONCE, { days: [] }),
        receiver = await Receiver.open();
      try {
        receiver.answer = (_request, response, count) => {
          response.writeHead(count < 3 ? 503 : 200).end();
        };
        const { id } = await subscribe(study, `${receiver.url}/hook`);
        await setDate(study);
        const [delivery] = await until(
          async () => {
            const all = await deliveries(study, id);
            return all.some(({ status }) => status === 'delivered') ? all : undefined;
          },
          { what: 'the event to arrive' },
        );
        await this.handle('event-delivery', contract.eventDeliveryId(delivery!.id));
      } finally {
        await receiver.close();
      }
    },
    'study-export': () => this.export('study-export', false),
    'study-simulation': async () => {
      const study = await this.stage.study(FINAL_AT_ONCE);
      const made = await this.stage.admin.expect<Loose & { simulation_id: string }>(
        202,
        'POST',
        `/api/studies/${study.id}/simulations`,
        { participants: 10, months: 2, seed: 1 },
      );
      await this.handle('study-simulation', contract.studySimulationId(made.simulation_id));
    },
    'study-reanchoring-noted': async () => {
      const study = await this.stage.study(FINAL_AT_ONCE);
      await setDate(study);
      await study.window(60);
      await this.saveRun('study-reanchoring-noted', contract.workflowTypes.studyReanchoring, (id) =>
        id.includes(study.id),
      );
    },
    'update-visit-statuses': () =>
      this.job('update-visit-statuses', contract.scheduleIds.visitStatuses, contract.workflowTypes.updateVisitStatuses),
    'expire-sessions': () =>
      this.job('expire-sessions', contract.scheduleIds.sessionExpiry, contract.workflowTypes.expireSessions),
    'process-pending-reminders': () =>
      this.job(
        'process-pending-reminders',
        contract.scheduleIds.reminders,
        contract.workflowTypes.processPendingReminders,
      ),
    'send-daily-summary': () =>
      this.job('send-daily-summary', contract.scheduleIds.dailySummary, contract.workflowTypes.sendDailySummary),
  };

  private async trigger(name: string, send: (study: CaptureStudy) => Promise<void>): Promise<void> {
    const study = await this.capture.study();
    await send(study);
    const [event] = await study.settled(1, 60_000);
    await this.handle(name, contract.datacaptureTriggerId(event!.id));
  }

  private async push(name: string, prepare: (study: PushStudy) => Promise<void>, cancel = false): Promise<void> {
    const study = await this.pushes.study();
    await prepare(study);
    const { session } = await study.ended();
    if (cancel) {
      await study.attempt(session, () => true, 'an attempt');
      await this.stage.temporal.workflow.getHandle(contract.pushResultsId(session)).cancel();
    }
    await this.handle(name, contract.pushResultsId(session));
  }

  private async export(name: string, cancel: boolean): Promise<void> {
    const study = await this.stage.study(FINAL_AT_ONCE);
    const { export_id } = await this.stage.admin.expect<{ export_id: string }>(202, 'POST', '/api/exports/csv', {
      study_id: study.id,
      dataset: 'participants',
      mode: 'background',
    });
    if (cancel) await this.stage.temporal.workflow.getHandle(contract.studyExportId(export_id)).cancel();
    await this.handle(name, contract.studyExportId(export_id));
  }

  private async job(name: string, schedule: string, type: string): Promise<void> {
    await this.stage.temporal.schedule.getHandle(schedule).trigger('BUFFER_ONE');
    await this.saveRun(name, type, () => true);
  }

  /** Of a run that has ended, by its id. */
  private async handle(name: string, workflowId: string): Promise<void> {
    const handle = this.stage.temporal.workflow.getHandle(workflowId);
    await until(async () => (await handle.describe()).status.name === 'COMPLETED', {
      interval: 300,
      what: `${workflowId} to end`,
    });
    await this.save(name, handle);
  }

  private async saveRun(name: string, type: string, fits: (workflowId: string) => boolean): Promise<void> {
    const run = await until(
      async () => {
        for await (const found of this.stage.temporal.workflow.list({
          query: `WorkflowType = '${type}' AND ExecutionStatus = 'Completed'`,
        }))
          if (fits(found.workflowId)) return found;
        return undefined;
      },
      { interval: 500, what: `a run of ${type} that has ended` },
    );
    await this.save(name, this.stage.temporal.workflow.getHandle(run.workflowId, run.runId));
  }
}
