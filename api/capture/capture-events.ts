import { findConfig } from '../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import { enrollmentEvents } from '../../workflows/domain/capture/enrollment.js';
import { presentName } from '../../workflows/domain/capture/known-events.js';
import type { KnownEvents } from '../../workflows/domain/capture/known-events.js';
import { Problem } from '../http/errors.js';
import { askCapture, askingFor } from './capture-query.service.js';
import type { ConfigChangeRequest } from './config-change.js';
import type { Saving } from './config-change.js';
import type { ConfigWarning } from './config-change.js';

/**
 * Replaces event names of a configuration change by the present ones. If it names other events than before, the capture
 * system is queried first: an event renamed there is renamed here, and keeps its entry. A former name counts as the
 * present one. An unavailable capture system prevents no change.
 */
export async function withPresentEvents(
  saving: Saving,
  change: ConfigChangeRequest,
  seconds: number,
): Promise<{ change: ConfigChangeRequest; warnings: ConfigWarning[] }> {
  const stored = () => readInScope(saving.services.database, saving.studyId, (tx) => findConfig(tx, saving.studyId));
  const before = await stored();
  if (!before || change.api_url !== undefined || change.api_token !== undefined || !namesOthers(before, change))
    return { change, warnings: [] };
  await follow(saving, seconds);
  const known = (await stored())?.known_events ?? {};
  const warnings: ConfigWarning[] = [];
  const mapping = change.event_battery_mapping && present(known, change.event_battery_mapping, warnings);
  const event =
    change.enrollment_event && enrollmentEvents(change.enrollment_event).map((name) => presentName(known, name));
  return {
    change: {
      ...change,
      ...(mapping && { event_battery_mapping: mapping }),
      ...(event && { enrollment_event: event.join(',') }),
    },
    warnings,
  };
}

function namesOthers(stored: DatacaptureConfigRow, change: ConfigChangeRequest): boolean {
  const mapped = Object.entries(change.event_battery_mapping ?? {});
  return (
    mapped.some(([name, entry]) => (entry === null) === Object.hasOwn(stored.event_battery_mapping, name)) ||
    (change.enrollment_event !== undefined && change.enrollment_event !== stored.enrollment_event)
  );
}

async function follow({ services, studyId, actor, context }: Saving, seconds: number): Promise<void> {
  try {
    await askCapture(
      services,
      { kind: 'events', study_id: studyId, follow: await askingFor(services, 'events', { studyId, actor, context }) },
      seconds,
    );
  } catch (failure) {
    if (!(failure instanceof Problem && failure.status === 503)) throw failure;
    services.log.warn({ study_id: studyId, err: failure }, 'events could not be looked at before a mapping was saved');
  }
}

function present<T>(known: KnownEvents, mapping: Record<string, T>, warnings: ConfigWarning[]): Record<string, T> {
  const result = new Map<string, T>();
  for (const [name, entry] of Object.entries(mapping)) {
    const called = presentName(known, name);
    // An entry has priority over a removal, and one under the present name over others.
    if (called !== name && (entry === null ? Object.hasOwn(mapping, called) : (mapping[called] ?? null) !== null))
      continue;
    if (entry === null && (result.get(called) ?? null) !== null) continue;
    result.set(called, entry);
    if (called !== name && entry !== null)
      warnings.push({
        code: 'EVENT_RENAMED',
        path: `event_battery_mapping.${name}`,
        message:
          `The event "${name}" is called "${called}" in the capture system now: the entry is saved under that ` +
          'name.',
      });
  }
  return Object.fromEntries(result);
}
