import { expect } from 'chai';
import type { SyncVisitRow } from '../../db/assessment/offline.queries.js';
import type { EventRename as EventRenameRow, KnownEventRow } from '../../db/capture/known-events.queries.js';
import type { EventRow, WindowRow } from '../../db/scheduling/schedules.queries.js';
import type { SyncVisit } from '../../workflows/domain/assessment/sync-visits.js';
import type { EventRename, KnownEvent } from '../../workflows/domain/capture/known-events.js';
import type { EventDefinition } from '../../workflows/domain/scheduling/events/plan.js';
import type { WindowDefinition } from '../../workflows/domain/scheduling/schedule.js';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/**
 * `db/` and `workflows/domain/` may not import each other, so some records have a type in each: the compiler compares.
 */
const pairs: {
  event: Same<EventRow, EventDefinition>;
  knownEvent: Same<KnownEventRow, KnownEvent>;
  rename: Same<EventRenameRow, EventRename>;
  visit: Same<SyncVisitRow, SyncVisit>;
  window: Same<WindowRow, WindowDefinition>;
} = { event: true, knownEvent: true, rename: true, visit: true, window: true };

describe('Rows that the domain reads', () => {
  it('have the fields of the domain’s types', () => {
    expect(Object.values(pairs)).not.to.include(false);
  });
});
