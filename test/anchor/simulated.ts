import { expect } from 'chai';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import type { PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import type { SimulationResult } from '../../workflows/domain/simulation/result.js';
import { simulateAtOnce } from '../../workflows/domain/simulation/run.js';

export const window = (code: string, target_day: number, more: Record<string, unknown> = {}) => ({
  id: `w-${code}`,
  code,
  name: `Visit ${code}`,
  battery_id: null,
  target_day,
  window_before: 3,
  window_after: 3,
  is_baseline: target_day === 0,
  datacapture_event: null,
  sort_order: 0,
  ...more,
});
export const event = (event_oid: string, target_day: number, more: Record<string, unknown> = {}) => ({
  id: `e-${event_oid}`,
  event_oid,
  name: `Event ${event_oid}`,
  battery_id: null,
  target_day,
  window_before: 3,
  window_after: 3,
  is_baseline: target_day === 0,
  repeating: null,
  datacapture_event: null,
  sort_order: 0,
  ...more,
});
/**
 * A study in which everybody arrives on the first day, signs at once and comes on the day: what follows can be told by
 * hand.
 */
export const exact = {
  enrolment_days: 1,
  consent_rate: 1,
  consent_delay_days: 0,
  completion_rate: 1,
  late_rate: 0,
  on_target_rate: 1,
  avoid_days_off: 0,
  reanchor_rate: 0,
  reconsent_rate: 0,
  withdrawal_rate_per_year: 0,
};

export function inputs(
  more: Partial<Omit<SimulationInputs, 'policy'>> & { policy?: PolicyInput } = {},
): SimulationInputs {
  return {
    participants: 50,
    months: 12,
    seed: 1,
    start_date: '2024-01-01',
    behaviour: {},
    study: { start_date: '2024-01-01', timezone: 'UTC', consent_mode: 'econsent' },
    scheduling_mode: 'legacy',
    windows: [window('D0', 0), window('D30', 30), window('D180', 180)],
    mapping: {},
    events: [],
    calendar: null,
    sites: [],
    ...more,
    policy: completePolicy(more.policy ?? {}),
  };
}
export const run = (more: Parameters<typeof inputs>[0] = {}) => simulateAtOnce(inputs(more));
export const text = (result: SimulationResult) => JSON.stringify(result);
export const allHold = (result: SimulationResult) =>
  expect(result.checks).to.deep.equal({
    visits_add_up: true,
    days_add_up: true,
    weekdays_add_up: true,
    no_completion_lost: true,
    no_visit_doubled: true,
  });
