import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { SimulationActivities } from '../../activities/simulation/simulation.activities.js';
import type { StudySimulationStart } from '../contract.js';
import { publishFailure } from '../util/outcome.js';

/**
 * The computation takes seconds to minutes and may wait for others on the same worker; heartbeats show that it is
 * alive.
 */
const { runSimulation } = proxyActivities<SimulationActivities>({
  startToCloseTimeout: '4h',
  heartbeatTimeout: '30s',
  summary: 'simulate the study day by day',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
});
const { failSimulation } = proxyActivities<SimulationActivities>({
  startToCloseTimeout: '30s',
  summary: 'record the failure',
});

/** One simulation of a study, from its stored snapshot to its result in the database. */
export async function studySimulation(start: StudySimulationStart): Promise<void> {
  try {
    setCurrentDetails('The study is simulated; how far it is stands in the heartbeat and in the simulation itself.');
    await runSimulation(start);
    setCurrentDetails('The result is stored.');
  } catch (failure) {
    publishFailure(`The simulation failed. ${reasonOf(failure)}`);
    // A cancelled run also ends its simulation.
    await CancellationScope.nonCancellable(() => failSimulation(start, reasonOf(failure)));
  }
}

function reasonOf(failure: unknown): string {
  const cause = failure instanceof ActivityFailure ? failure.cause : failure;
  return cause instanceof ApplicationFailure ? cause.message : 'The simulation was cancelled.';
}
