import type { SimulationInputs } from './inputs.js';
import { SimulatedPerson } from './person.js';
import { resultOf } from './result.js';
import type { SimulationResult } from './result.js';
import { createWorld } from './world.js';

/**
 * Simulates a study day by day and yields the progress (0 to 1) after each day; returns the result. Pure: no clock,
 * only seeded randomness, no database. Anchors, schedules and visits follow from the service's own functions.
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

/** The whole simulation, without yielding. */
export function simulateAtOnce(inputs: SimulationInputs): SimulationResult {
  const run = simulate(inputs);
  for (;;) {
    const step = run.next();
    if (step.done) return step.value;
  }
}
