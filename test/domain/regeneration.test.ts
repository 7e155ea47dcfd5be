import { expect } from 'chai';
import { nextVersion } from '../../workflows/domain/regeneration.js';
import { windowIdentity } from '../../workflows/domain/schedule.js';
import type { StandingVisit, VisitStatus } from '../../workflows/domain/schedule.js';

const keyOf = (identity: string) => `p/${identity}`;
const window = (id: string, target_day: number) => ({ id, code: id, name: id, battery_id: null, target_day, window_before: 0, window_after: 7, is_baseline: target_day === 0, datacapture_event: null, sort_order: 0 });
const byHand = (status: VisitStatus, visit_key = keyOf(windowIdentity('W0'))): StandingVisit => ({
  id: 'hand', visit_key, status, name: 'Baseline', target_date: '2026-01-05', window_open: '2026-01-05', window_close: '2026-01-12', battery_id: null, datacapture_event: null,
  schedule_version_id: null, needs_review: false, reporting_target_date: null,
});
const next = (standing: StandingVisit[]) => nextVersion('2026-01-10', { windows: [window('W0', 0), window('W1', 30)], mapping: {}, standing, latest_number: 0, latest_date: null, current_date: null }, keyOf).change;

describe('a visit that was scheduled by hand for a window, when a schedule is made', () => {
  for (const [status, made, list] of [
    ['completed', ['W1'], 'completed'], ['open', ['W1'], 'kept'], ['scheduled', ['W1'], 'kept'], ['missed', ['W0', 'W1'], 'supersede'],
  ] as const) {
    it(`${status}: the schedule has ${made.join(' and ')} of its own`, () => {
      const change = next([byHand(status)]);
      expect(change.create.map((visit) => visit.name)).to.deep.equal(made);
      const found = { completed: change.completed.map((c) => c.visit.id), kept: change.kept.map((c) => c.visit.id), supersede: change.supersede.map((v) => v.id) };
      expect(found).to.deep.equal({ completed: [], kept: [], supersede: [], [list]: ['hand'] });
    });
  }

  it('one with a key of its own is one visit more, and stays whatever becomes of the plan', () => {
    for (const status of ['completed', 'open', 'missed'] as const) {
      const change = next([byHand(status, 'another')]);
      expect([change.create.length, change.completed, change.kept, change.supersede]).to.deep.equal([2, [], [], []]);
    }
  });
});
