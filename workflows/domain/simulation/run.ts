import type { SimulationInputs } from './inputs.js';
import { SimulatedPerson } from './person.js';
import { resultOf } from './result.js';
import type { SimulationResult } from './result.js';
import { createWorld } from './world.js';

/**
 * Lives through a study day by day and tells after each day how far it is (0 to 1); returns the result. Pure: no
 * clock, no chance but the seed's, nothing of a database. Anchors, schedules and visits follow by the functions that
 * the service itself decides and plans with.
 */
export function* simulate(inputs: SimulationInputs): Generator<number, SimulationResult, void> {
  const world = createWorld(inputs);
  const people = Array.from({ length: inputs.participants }, (_, index) => new SimulatedPerson(world, index));
  for (let day = 0; day < world.days.count; day++) {
    world.agenda.live(day);
    yield (day + 1) / world.days.count;
  }
  return resultOf(world, people);
}

/** The whole simulation at once. */
export function simulateAtOnce(inputs: SimulationInputs): SimulationResult {
  const run = simulate(inputs);
  for (;;) {
    const step = run.next();
    if (step.done) return step.value;
  }
}
