import type { StudyDocument } from '../../../db/exports/full-study/document.js';
import { IsoDate, Type, nullable } from '../../http/common.schemas.js';
import { invalidFields } from '../../http/errors.js';
import { faultsIn } from '../../http/validation/validation.js';
import { Day, Days, MAX_HOLIDAYS, Occurrences, RepeatDays, WeekendDays } from '../../scheduling/edc.schemas.js';

const offsets = { target_day: Day, window_before: Type.Optional(Days), window_after: Type.Optional(Days) };

/** The bounds that the API sets for what the worker goes through visit by visit and day by day. */
const BOUNDED = {
  visit_windows: Type.Object(offsets),
  event_definitions: Type.Object({
    ...offsets,
    repeat_count: Type.Optional(nullable(Occurrences)),
    repeat_every_days: Type.Optional(nullable(RepeatDays)),
  }),
  holiday_calendars: Type.Object({
    weekend_days: Type.Optional(WeekendDays),
    holidays: Type.Optional(Type.Array(Type.Object({ date: IsoDate }), { maxItems: MAX_HOLIDAYS })),
  }),
};

/** Schedules of an import have the bounds of others: one without end would stop the worker. @throws 422 */
export function requireBoundedDesign({ tables }: StudyDocument): void {
  for (const [table, schema] of Object.entries(BOUNDED))
    for (const [i, row] of (tables[table] ?? []).entries()) {
      const faults = faultsIn(schema, row);
      if (faults.length > 0)
        throw invalidFields(faults.map((fault) => ({ ...fault, path: `tables.${table}.${i}.${fault.path}` })));
    }
}
