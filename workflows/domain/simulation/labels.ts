import { instanceIdentity } from '../scheduling/events/plan.js';
import type { SimulationInputs } from './inputs.js';

const known = new WeakMap<SimulationInputs, Map<string, { code: string; day: number }>>();

/**
 * The readable name of a planned visit: its window's code, or its event's name. Never an id: two identical studies have
 * the same labels.
 */
export function planLabel(
  inputs: SimulationInputs,
  identity: string,
  name: string,
): { code: string; name: string; day: number } {
  let labels = known.get(inputs);
  if (!labels) known.set(inputs, (labels = labelsOf(inputs)));
  return { code: name, day: 0, ...labels.get(identity), name };
}

function labelsOf(inputs: SimulationInputs): Map<string, { code: string; day: number }> {
  const labels = new Map<string, { code: string; day: number }>();
  if (inputs.scheduling_mode === 'edc') {
    for (const event of inputs.events) {
      const { count, every_days } = event.repeating ?? { count: 1, every_days: 0 };
      for (let i = 1; i <= count; i++) {
        labels.set(instanceIdentity(event.id, i), {
          code: event.repeating ? `${event.event_oid}#${i}` : event.event_oid,
          day: event.target_day + (i - 1) * every_days,
        });
      }
    }
    return labels;
  }
  for (const window of inputs.windows) {
    const mapped = window.datacapture_event === null ? undefined : inputs.mapping[window.datacapture_event];
    labels.set(`window:${window.id}`, { code: window.code, day: mapped?.target_day ?? window.target_day });
  }
  for (const [event, rule] of Object.entries(inputs.mapping))
    labels.set(`event:${event}`, { code: event, day: rule.target_day });
  return labels;
}
