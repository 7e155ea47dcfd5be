import type { KeyedVisit, Regeneration, StandingVisit } from '../scheduling/schedule.js';

export interface PreviewVisit {
  visit_key: string;
  name: string;
  action: 'keep' | 'move' | 'supersede' | 'new';
  from?: string;
  to?: string;
  notes: string[];
}
/** The effect of a re-anchoring. */
export interface Impact {
  completed_visits_to_reconcile: number;
  pending_visits_to_reschedule: number;
  /** The number of the next schedule version. */
  new_schedule_version: number;
  warnings: string[];
  visits: PreviewVisit[];
}

/** Lists for each visit whether it stays, moves, is superseded or is new, with warnings. */
export function impactOf(
  change: Regeneration,
  next: { version_number: number; today: string; reconciles: boolean; warnings: readonly string[] },
): Impact {
  const visits: PreviewVisit[] = change.completed.map(({ visit, planned }) => ({
    visit_key: visit.visit_key,
    name: visit.name,
    action: 'keep',
    from: visit.target_date,
    ...(planned && { to: planned.target_date }),
    notes: [
      'completed: stays as it is',
      ...(planned && planned.target_date !== visit.target_date
        ? [`its target would now be ${planned.target_date}`]
        : []),
    ],
  }));
  for (const { visit, planned } of change.kept) {
    visits.push({
      visit_key: visit.visit_key,
      name: visit.name,
      action: 'keep',
      from: visit.target_date,
      to: planned.target_date,
      notes: ['scheduled by hand: stays as it is'],
    });
  }
  for (const { visit } of change.cancelled) {
    visits.push({
      visit_key: visit.visit_key,
      name: visit.name,
      action: 'keep',
      from: visit.target_date,
      notes: ['cancelled by hand: stays cancelled'],
    });
  }
  for (const { visit, planned } of change.missed) {
    visits.push({
      visit_key: visit.visit_key,
      name: visit.name,
      action: 'keep',
      from: visit.target_date,
      to: planned.target_date,
      notes: ['missed on these days: stays missed'],
    });
  }
  const pending = new Map(change.supersede.map((visit) => [visit.visit_key, visit]));
  for (const visit of change.create) {
    const was = pending.get(visit.visit_key);
    pending.delete(visit.visit_key);
    visits.push({
      visit_key: visit.visit_key,
      name: visit.name,
      action: was ? 'move' : 'new',
      ...(was && { from: was.target_date }),
      to: visit.target_date,
      notes: notesOf(visit, was, next.today),
    });
  }
  for (const visit of pending.values()) {
    visits.push({
      visit_key: visit.visit_key,
      name: visit.name,
      action: 'supersede',
      from: visit.target_date,
      notes: ['no longer planned'],
    });
  }
  visits.sort((a, b) =>
    (a.to ?? a.from)! < (b.to ?? b.from)!
      ? -1
      : (a.to ?? a.from)! > (b.to ?? b.from)!
        ? 1
        : a.visit_key < b.visit_key
          ? -1
          : 1,
  );
  const closed = visits.filter((visit) => visit.notes.includes(CLOSED)).length;
  return {
    completed_visits_to_reconcile: next.reconciles ? change.completed.length : 0,
    pending_visits_to_reschedule: change.supersede.length,
    new_schedule_version: next.version_number,
    warnings: [
      ...next.warnings,
      ...(closed > 0 ? [`WINDOW_ALREADY_CLOSED: ${closed} ${closed === 1 ? 'visit' : 'visits'}`] : []),
    ],
    visits,
  };
}

const CLOSED = 'its window is closed already';
function notesOf(visit: KeyedVisit, was: StandingVisit | undefined, today: string): string[] {
  const notes: string[] = [];
  if (visit.window_close < today) notes.push(CLOSED);
  if (was?.status === 'open' && (visit.window_open > today || visit.window_close < today))
    notes.push('open now, outside its window then');
  if (visit.moved_from) notes.push('moved by hand: stays where it was put');
  else if (was?.moved_from) notes.push('moved by hand before: the schedule has other days for it now');
  if (visit.changed_from) notes.push('changed by hand: keeps what it was given');
  else if (was?.changed_from) notes.push('changed by hand before: the schedule has something else for it now');
  if (was?.status === 'missed') notes.push('was missed, is to do again');
  if (was && was.target_date === visit.target_date) notes.push('date unchanged');
  return notes;
}
