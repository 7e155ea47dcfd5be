import { randomBytes, randomInt } from 'node:crypto';
import { readProjectFolder } from '../../test/capture-simulator/project.js';
import { shippedProject, startSimulator } from '../../test/capture-simulator/server.js';
import type { Simulator } from '../../test/capture-simulator/server.js';

/** The instrument that enrolls a participant, and its event. */
export const ENROLLMENT = { instrument: 'enrollment', event: 'baseline_arm_1' };

/** The target field of each task's metric. */
export const RESULTS = {
  reaction_time: {
    datacapture_instrument: 'cognitive_results',
    fields: { mean_rt: 'rt_mean', median_rt: 'rt_median', accuracy: 'accuracy', total_trials: 'total_trials' },
  },
  n_back: {
    datacapture_instrument: 'nback_results',
    fields: { mean_rt: 'nback_mean_rt', accuracy: 'nback_accuracy', total_trials: 'nback_trials' },
  },
};

/** A simulated capture system with one project, whose forms are saved as a site's staff would. */
export class CaptureSystem {
  readonly secret = randomBytes(24).toString('base64url');

  private constructor(
    readonly simulator: Simulator,
    readonly projectId: number,
    readonly token: string,
  ) {}

  /** Starts it on a free port. Its project is new each time, so that no study of an earlier demo gets its triggers. */
  static async start(): Promise<CaptureSystem> {
    const projectId = randomInt(100_000, 2_000_000_000);
    const token = randomBytes(16).toString('hex').toUpperCase();
    const source = await readProjectFolder(shippedProject('longitudinal'));
    const simulator = await startSimulator({ projects: [] });
    simulator.control.addProject({
      ...source,
      project: { ...(source.project as object), project_id: projectId, users: [{ username: 'integration', token }] },
    });
    return new CaptureSystem(simulator, projectId, token);
  }

  get title(): string {
    return this.simulator.control.project(this.projectId).design.title;
  }
  recordIds(): string[] {
    return this.simulator.control.records(this.projectId).map(({ record }) => record);
  }
  sendTriggersTo(url: string): void {
    this.simulator.control.setTrigger(this.projectId, { url, secret: this.secret, signing: 'header' });
  }

  /** Saves the enrollment form of a record; returns the HTTP status of its trigger. */
  async saveEnrollment(record: string, values: Record<string, string> = {}): Promise<number | null> {
    const { trigger } = await this.simulator.control.saveForm(this.projectId, { record, ...ENROLLMENT, values });
    return trigger?.status ?? null;
  }

  /** The enrollment date in a record's enrollment form. */
  enrollmentDate(record: string): string {
    const rows = this.simulator.control.record(this.projectId, record)?.rows ?? [];
    return rows.find(({ event }) => event === ENROLLMENT.event)?.values['enrollment_date'] ?? '';
  }

  /** The pushed values in a record's event. */
  results(record: string, event: string): Record<string, string> {
    const values =
      this.simulator.control.record(this.projectId, record)?.rows.find((row) => row.event === event)?.values ?? {};
    const pushed = [
      ...Object.values(RESULTS).flatMap(({ fields }) => Object.values(fields) as string[]),
      ...Object.values(RESULTS).map(({ datacapture_instrument }) => `${datacapture_instrument}_complete`),
    ];
    return Object.fromEntries(pushed.flatMap((field) => (values[field] ? [[field, values[field]] as const] : [])));
  }

  stop(): Promise<void> {
    return this.simulator.stop();
  }
}
