import { expect } from 'chai';
import { nextVersion } from '../../workflows/domain/anchor/regeneration.js';
import { windowIdentity } from '../../workflows/domain/scheduling/schedule.js';
import type { StandingVisit, VisitStatus } from '../../workflows/domain/scheduling/schedule.js';

const keyOf = (identity: string) => `p/${identity}`;
const window = (id: string, target_day: number) => ({
  id,
  code: id,
  name: id,
  battery_id: null,
  target_day,
  window_before: 0,
  window_after: 7,
  is_baseline: target_day === 0,
  datacapture_event: null,
  sort_order: 0,
});
const byHand = (status: VisitStatus, visit_key = keyOf(windowIdentity('W0'))): StandingVisit => ({
  id: 'hand',
  visit_key,
  status,
  name: 'Baseline',
  target_date: '2026-01-05',
  window_open: '2026-01-05',
  window_close: '2026-01-12',
  battery_id: null,
  datacapture_event: null,
  schedule_version_id: null,
  needs_review: false,
  reporting_target_date: null,
});
const inputs = (standing: StandingVisit[]) => ({
  windows: [window('W0', 0), window('W1', 30)],
  mapping: {},
  standing,
  latest_number: 0,
  latest_date: null,
  current_date: null,
});
const next = (standing: StandingVisit[]) => nextVersion('2026-01-10', inputs(standing), keyOf).change;

describe('a visit that was scheduled by hand for a window, when a schedule is made', () => {
  for (const [status, made, list] of [
    ['completed', ['W1'], 'completed'],
    ['open', ['W1'], 'kept'],
    ['scheduled', ['W1'], 'kept'],
    ['missed', ['W0', 'W1'], 'supersede'],
  ] as const) {
    it(`${status}: the schedule has ${made.join(' and ')} of its own`, () => {
      const change = next([byHand(status)]);
      expect(change.create.map((visit) => visit.name)).to.deep.equal(made);
      const found = {
        completed: change.completed.map((c) => c.visit.id),
        kept: change.kept.map((c) => c.visit.id),
        supersede: change.supersede.map((v) => v.id),
      };
      expect(found).to.deep.equal({ completed: [], kept: [], supersede: [], [list]: ['hand'] });
    });
  }

  it('cancelled by somebody: it stays cancelled, and the schedule has no other of its key', () => {
    for (const schedule_version_id of [null, 'v1']) {
      const change = next([{ ...byHand('cancelled'), schedule_version_id }]);
      expect(change.create.map((visit) => visit.name)).to.deep.equal(['W1']);
      expect([change.completed, change.kept, change.supersede, change.cancelled.map((c) => c.visit.id)]).to.deep.equal([
        [],
        [],
        [],
        ['hand'],
      ]);
    }
  });

  it('a cancellation alone is no other schedule, and moves no visit beside it', () => {
    const standing = nextVersion('2026-01-10', inputs([]), keyOf).change.create.map((planned): StandingVisit => ({
      ...byHand('open', planned.visit_key),
      ...planned,
      id: planned.name,
      schedule_version_id: 'v1',
    }));
    const cancelled = standing.map((visit) =>
      visit.name === 'W1' ? { ...visit, status: 'cancelled' as const } : visit,
    );
    expect(nextVersion('2026-01-10', inputs(cancelled), keyOf).change.changes).to.equal(false);
    const moved = nextVersion('2026-01-11', inputs(cancelled), keyOf).change;
    expect([moved.changes, moved.create.map((v) => v.name), moved.supersede.map((v) => v.id)]).to.deep.equal([
      true,
      ['W0'],
      ['W0'],
    ]);
  });

  it('a cancellation counts no more once the visit is there again: reopened, or scheduled again by hand', () => {
    const change = next([{ ...byHand('cancelled'), id: 'before' }, byHand('open')]);
    expect([change.cancelled, change.kept.map((c) => c.visit.id), change.create.map((v) => v.name)]).to.deep.equal([
      [],
      ['hand'],
      ['W1'],
    ]);
  });

  it('one with a key of its own is one visit more, and stays whatever becomes of the plan', () => {
    for (const status of ['completed', 'open', 'missed'] as const) {
      const change = next([byHand(status, 'another')]);
      expect([change.create.length, change.completed, change.kept, change.supersede]).to.deep.equal([2, [], [], []]);
    }
  });
});

describe('a visit that was missed, when the schedule is made again', () => {
  const DATE = '2026-01-10';
  const standing = (status: VisitStatus) =>
    nextVersion(DATE, inputs([]), keyOf).change.create.map((planned): StandingVisit => ({
      ...byHand('scheduled', planned.visit_key),
      ...planned,
      id: planned.name,
      schedule_version_id: 'v1',
      status: planned.name === 'W0' ? status : 'scheduled',
    }));
  const names = (visits: readonly { name: string }[]) => visits.map((visit) => visit.name);

  it('stays missed where another window moves: what was missed on the same days is not to do again', () => {
    const change = nextVersion(
      DATE,
      { ...inputs(standing('missed')), windows: [window('W0', 0), window('W1', 40)] },
      keyOf,
    ).change;
    expect([
      change.changes,
      names(change.create),
      names(change.supersede),
      change.missed.map((c) => c.visit.id),
    ]).to.deep.equal([true, ['W1'], ['W1'], ['W0']]);
  });

  it('is no other schedule by itself, whatever its window is called now', () => {
    const renamed = { ...window('W0', 0), name: 'First' };
    const change = nextVersion(
      DATE,
      { ...inputs(standing('missed')), windows: [renamed, window('W1', 30)] },
      keyOf,
    ).change;
    expect([change.changes, change.missed.length]).to.deep.equal([false, 1]);
  });

  it('is to do again where its own days move', () => {
    const moved = nextVersion('2026-01-11', inputs(standing('missed')), keyOf).change;
    expect([names(moved.create), names(moved.supersede), moved.missed]).to.deep.equal([['W0', 'W1'], ['W0', 'W1'], []]);
    const longer = nextVersion(
      DATE,
      { ...inputs(standing('missed')), windows: [{ ...window('W0', 0), window_after: 30 }, window('W1', 30)] },
      keyOf,
    ).change;
    expect([names(longer.create), longer.missed]).to.deep.equal([['W0', 'W1'], []]);
  });

  it('gives way where its window is no longer planned', () => {
    const change = nextVersion(DATE, { ...inputs(standing('missed')), windows: [window('W1', 30)] }, keyOf).change;
    expect([names(change.create), names(change.supersede), change.missed]).to.deep.equal([['W1'], ['W0', 'W1'], []]);
  });

  it('by hand, on the days that the plan has for its window, stays missed as well', () => {
    const change = next([{ ...byHand('missed'), target_date: DATE, window_open: DATE, window_close: '2026-01-17' }]);
    expect([names(change.create), change.supersede, change.missed.map((c) => c.visit.id)]).to.deep.equal([
      ['W1'],
      [],
      ['hand'],
    ]);
  });
});

describe('a visit that somebody moved, when the schedule is made again', () => {
  const DATE = '2026-01-10';
  const PUT = { target_date: '2026-02-13', window_open: '2026-02-12', window_close: '2026-02-20' };
  const standing = (status: VisitStatus = 'scheduled', put = PUT) =>
    nextVersion(DATE, inputs([]), keyOf).change.create.map((planned): StandingVisit => {
      const { target_date, window_open, window_close } = planned;
      const visit: StandingVisit = {
        ...byHand('scheduled', planned.visit_key),
        ...planned,
        id: planned.name,
        schedule_version_id: 'v1',
      };
      return planned.name === 'W1'
        ? { ...visit, ...put, status, moved_from: { target_date, window_open, window_close } }
        : visit;
    });

  it('stays where it was put while another window moves, again and again', () => {
    const first = nextVersion(
      DATE,
      { ...inputs(standing()), windows: [window('W0', 1), window('W1', 30)] },
      keyOf,
    ).change;
    expect(first.create.find(({ name }) => name === 'W1')).to.include(PUT);
    const again = first.create.map((planned): StandingVisit => ({
      ...byHand('scheduled', planned.visit_key),
      ...planned,
      id: planned.name,
      schedule_version_id: 'v2',
    }));
    const second = nextVersion(DATE, { ...inputs(again), windows: [window('W0', 2), window('W1', 30)] }, keyOf).change;
    expect(second.create.find(({ name }) => name === 'W1')).to.include(PUT);
    expect(second.create.find(({ name }) => name === 'W0'))
      .to.include({ target_date: '2026-01-12' })
      .and.to.not.have.property('moved_from');
  });

  it('is no other schedule by itself', () => {
    expect(nextVersion(DATE, inputs(standing()), keyOf).change.changes).to.equal(false);
  });

  it('follows the schedule again where that has other days for it: another anchor, another window', () => {
    const anchored = nextVersion('2026-01-11', inputs(standing()), keyOf).change;
    expect(anchored.create.find(({ name }) => name === 'W1'))
      .to.include({ target_date: '2026-02-10' })
      .and.to.not.have.property('moved_from');
    const windowed = nextVersion(
      DATE,
      { ...inputs(standing()), windows: [window('W0', 0), window('W1', 31)] },
      keyOf,
    ).change;
    expect(windowed.create.find(({ name }) => name === 'W1')).to.include({ target_date: '2026-02-10' });
  });

  it('keeps the battery that it was given until its window is given another, wherever the anchor moves it', () => {
    const there = standing('scheduled').map((visit) =>
      visit.name === 'W1' ? { ...visit, moved_from: null, battery_id: 7, changed_from: { battery_id: null } } : visit,
    );
    const w1 = (anchor: string, battery_id: number | null) =>
      nextVersion(
        anchor,
        { ...inputs(there), windows: [window('W0', 0), { ...window('W1', 30), battery_id }] },
        keyOf,
      ).change.create.find(({ name }) => name === 'W1');
    expect(w1('2026-01-11', null)).to.deep.include({
      target_date: '2026-02-10',
      battery_id: 7,
      changed_from: { battery_id: null },
    });
    expect(w1('2026-01-11', 8))
      .to.include({ target_date: '2026-02-10', battery_id: 8 })
      .and.to.not.have.property('changed_from');
  });

  it('stays missed where it was missed on the days that it was given', () => {
    const change = nextVersion(
      DATE,
      { ...inputs(standing('missed')), windows: [window('W0', 1), window('W1', 30)] },
      keyOf,
    ).change;
    expect([change.missed.map((c) => c.visit.id), change.create.map((v) => v.name)]).to.deep.equal([['W1'], ['W0']]);
  });
});
