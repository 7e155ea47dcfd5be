import { createHash } from 'node:crypto';
import { Context, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import {
  beginSimulation,
  completeSimulation,
  failSimulation,
  noteSimulationProgress,
} from '../../db/simulation/simulations.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { StudySimulationStart } from '../../workflows/contract.js';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import { compute } from './compute.js';
import type { Database } from '../../db/client/database.js';
import { faultCode } from '../../db/client/connection/driver-faults.js';

const HEARTBEAT_MS = 5_000;
/** How often the row's progress is updated. */
const NOTE_MS = 1_000;

/** Simulations of one worker run one after the other: each takes a whole core. */
class ConcurrencyLimiter {
  private last: Promise<unknown> = Promise.resolve();
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work, work);
    this.last = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }
}

/**
 * The activities of a study's simulation; each may be retried at any point, since the result is a function of its
 * inputs.
 */
export function createSimulationActivities({ database }: { database: Database }) {
  const turns = new ConcurrencyLimiter();
  return {
    /** Computes a simulation from its stored inputs and stores the result. Changes nothing else of the study. */
    async runSimulation({ simulation_id, study_id }: StudySimulationStart): Promise<void> {
      const context = Context.current();
      let progress = 0;
      const heartbeat = setInterval(() => context.heartbeat({ progress }), HEARTBEAT_MS);
      try {
        await turns.take(async () => {
          const inputs = await withStudyScope(database, study_id, ({ tx }) => beginSimulation(tx, simulation_id));
          if (inputs === undefined) return;
          const notes = new Notes(database, study_id, simulation_id);
          const text = await compute(inputs as SimulationInputs, context.cancellationSignal, (reached) => {
            progress = reached;
            notes.note(reached);
          });
          await notes.written;
          const sha256 = createHash('sha256').update(text).digest('hex');
          await withStudyScope(database, study_id, ({ tx }) => completeSimulation(tx, simulation_id, { text, sha256 }));
        });
      } catch (fault) {
        throw asFailure(fault, context.cancellationSignal.aborted);
      } finally {
        clearInterval(heartbeat);
      }
    },

    async failSimulation({ simulation_id, study_id }: StudySimulationStart, reason: string): Promise<void> {
      await withStudyScope(database, study_id, ({ tx }) => failSimulation(tx, simulation_id, reason));
    },
  };
}
export type SimulationActivities = ReturnType<typeof createSimulationActivities>;

/** Stores a simulation's progress periodically; the next update makes up for a failed one. */
class Notes {
  written: Promise<void> = Promise.resolve();
  private next = 0;
  constructor(
    private readonly database: Database,
    private readonly studyId: string,
    private readonly id: string,
  ) {}

  note(progress: number): void {
    const now = performance.now();
    if (now < this.next) return;
    this.next = now + NOTE_MS;
    this.written = withStudyScope(this.database, this.studyId, ({ tx }) =>
      noteSimulationProgress(tx, this.id, progress),
    ).catch((fault: unknown) => {
      log.warn('the progress of a simulation was not written', {
        fault: fault instanceof Error ? fault.name : 'fault',
      });
    });
  }
}

/** A stopping worker or an unavailable database is retried; a failed computation fails every time. */
function asFailure(fault: unknown, stopping: boolean): ApplicationFailure {
  const code = faultCode(fault);
  if (stopping)
    return ApplicationFailure.create({ type: 'Stopped', message: 'The simulation was stopped with its worker.' });
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return ApplicationFailure.create({
      type: 'TooLarge',
      nonRetryable: true,
      message: 'The simulation needs more memory than it may have.',
    });
  if (code !== undefined)
    return ApplicationFailure.create({ type: 'DatabaseFault', message: `The simulation was not stored (${code}).` });
  log.error('a simulation failed', { fault: fault instanceof Error ? fault.stack : String(fault) });
  return ApplicationFailure.create({
    type: 'SimulationFault',
    nonRetryable: true,
    message: 'The simulation failed inside the program.',
  });
}
