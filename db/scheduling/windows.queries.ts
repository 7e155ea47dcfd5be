import { lockByName } from '../client/advisory-lock.js';
import { ScheduledVisit, VisitWindow } from '../models/records.js';
import { orderClause, page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Tx } from '../client/database.js';

const COLUMNS = `id, study_id, code, name, battery_id, target_day, window_before, window_after, is_baseline,
  datacapture_event, sort_order,
  created_at, updated_at`;

export function listWindows(tx: Tx, filter: Page & { studyId?: string | undefined }): Promise<Listed<VisitWindow>> {
  const found = tx('visit_windows').modify((q) => {
    if (filter.studyId) q.where('study_id', filter.studyId);
  });
  return page(
    tx,
    found,
    COLUMNS,
    filter,
    { sort_order: 'sort_order', target_day: 'target_day', code: 'code', created_at: 'created_at' },
    'id',
  );
}

export async function windowById(tx: Tx, id: string, lock = false): Promise<VisitWindow | undefined> {
  const found = tx('visit_windows').where({ id });
  if (lock) void found.forUpdate();
  return found.first(tx.raw(COLUMNS)) as Promise<VisitWindow | undefined>;
}

/**
 * By its code, locked until the commit. So is a code that none has yet: of two requests that make it, the second finds
 * what the first has made.
 */
export async function windowByCode(tx: Tx, studyId: string, code: string): Promise<VisitWindow | undefined> {
  await lockByName(tx, `window-code ${studyId} ${code}`);
  return tx('visit_windows').where({ study_id: studyId, code }).forUpdate().first(tx.raw(COLUMNS)) as Promise<
    VisitWindow | undefined
  >;
}

export async function insertWindow(
  tx: Tx,
  window: Partial<VisitWindow> & { study_id: string; code: string },
): Promise<VisitWindow> {
  return orderClause(await VisitWindow.query(tx).insert(window).returning('*'), COLUMNS);
}

export async function updateWindow(tx: Tx, id: string, change: Partial<VisitWindow>): Promise<void> {
  if (Object.keys(change).length > 0) await VisitWindow.query(tx).findById(id).patch(change);
}

export async function windowHasCompletedVisits(tx: Tx, id: string): Promise<boolean> {
  return (await tx('scheduled_visits').where({ visit_window_id: id, status: 'completed' }).first('id')) !== undefined;
}

/**
 * Deletes a window; its visits stay, without it.
 * @returns false if one of them has been completed meanwhile: the caller rolls back
 */
export async function deleteWindow(tx: Tx, id: string): Promise<boolean> {
  const released = await ScheduledVisit.query(tx)
    .where({ visit_window_id: id })
    .patch({ visit_window_id: null })
    .returning('status');
  await VisitWindow.query(tx).deleteById(id);
  return !released.some(({ status }) => status === 'completed');
}

/** Whether the battery belongs to the study. */
export async function batteryIsOf(tx: Tx, batteryId: number, studyId: string): Promise<boolean> {
  return (await tx('batteries').where({ id: batteryId, study_id: studyId }).first('id')) !== undefined;
}
