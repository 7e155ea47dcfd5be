import type { Tx } from '../client/database.js';

/** The fields of a visit window that come from a capture-system event. */
export interface EventWindow {
  datacapture_event: string;
  name: string;
  target_day: number;
  window_before: number;
  window_after: number;
  sort_order: number;
}
export interface StoredEventWindow extends EventWindow {
  id: string;
  code: string;
  battery_id: number | null;
}

/** The study's windows of events, locked; and all used codes. */
export async function lockEventWindows(
  tx: Tx,
  studyId: string,
): Promise<{ windows: StoredEventWindow[]; codes: string[] }> {
  const rows = await tx('visit_windows').where({ study_id: studyId }).orderBy('id').forNoKeyUpdate();
  return { windows: rows.filter((row) => row.datacapture_event !== null), codes: rows.map((row) => row.code) };
}

export async function insertEventWindow(
  tx: Tx,
  studyId: string,
  window: EventWindow & { code: string; battery_id: number | null; is_baseline: boolean },
): Promise<string> {
  const [row] = await tx('visit_windows')
    .insert({ study_id: studyId, ...window })
    .returning('id');
  return row.id;
}

export async function updateEventWindow(tx: Tx, id: string, change: Partial<EventWindow>): Promise<void> {
  await tx('visit_windows').where({ id }).update(change);
}
