import { captureOverview } from '../../../db/capture/capture-overview.queries.js';
import type { CaptureOverview } from '../../../db/capture/capture-overview.queries.js';
import { configWithBatteries } from '../../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { listFailures } from '../../../db/capture/pushes.queries.js';
import type { FailureRecord } from '../../../db/capture/pushes.queries.js';
import type { Listed } from '../../../db/client/paging.js';
import type { Tx } from '../../../db/client/database.js';
import type { Role } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import { syncView } from '../../capture/datacapture-syncs.service.js';
import { getStudyOrThrow } from '../../studies/studies.service.js';

/** Failed pushes on one page. */
export const PAGE_SIZE = 20;
/** Roles that may do more than view and retry, as on the routes. */
export const configurerRoles: readonly Role[] = ['researcher', 'data_manager'];

export type SyncView = ReturnType<typeof syncView>;
/** The data of a study's capture-system page. */
export interface CaptureView {
  study: NonNullable<CaptureOverview['study']>;
  config: DatacaptureConfigRow | undefined;
  breaker: CaptureOverview['breaker'];
  pushes: CaptureOverview['pushes'];
  sync: SyncView | undefined;
  failures: Listed<FailureRecord>;
  skip: number;
}

/** @throws 404 for an unknown study */
export async function loadCapture(tx: Tx, studyId: string, skip = 0): Promise<CaptureView> {
  const { study, sync, ...found } = await captureOverview(tx, studyId);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  const failures = await listFailures(tx, studyId, { skip, limit: PAGE_SIZE, sort: '-failed_at' });
  return { ...found, study, sync: sync && syncView(sync), failures, skip };
}

/** The last sync only, for redrawing. */
export async function lastSync(tx: Tx, studyId: string): Promise<SyncView | undefined> {
  const { sync } = await captureOverview(tx, studyId);
  return sync && syncView(sync);
}

/** A study's stored mapping, with battery names. */
export interface MappingView {
  study: { id: string; study_code: string };
  config: DatacaptureConfigRow | undefined;
  batteries: Record<number, string>;
}

/** @throws 404 */
export async function loadMapping(tx: Tx, studyId: string): Promise<MappingView> {
  const study = await getStudyOrThrow(tx, studyId);
  const { config, batteries } = await configWithBatteries(tx, studyId);
  return { study, config, batteries: Object.fromEntries(batteries.map(({ id, name }) => [id, name])) };
}
