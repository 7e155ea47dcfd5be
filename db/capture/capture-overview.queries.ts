import { UNUSED_BREAKER, breakerStatement } from './breakers.queries.js';
import type { BreakerView } from './breakers.queries.js';
import { configStatement, pushCountsStatement } from './datacapture-configs.queries.js';
import type { DatacaptureConfigRow, PushCounts } from './datacapture-configs.queries.js';
import { lastSyncStatement } from './datacapture-syncs.queries.js';
import type { SyncRow } from './datacapture-syncs.queries.js';
import { queryAll } from '../client/query.js';
import type { Tx } from '../client/database.js';

interface CapturedStudy {
  id: string;
  study_code: string;
  study_name: string;
  datacapture_enabled: boolean;
}
/** All that tells how a study's exchange with its capture system is. */
export interface CaptureOverview {
  study: CapturedStudy | undefined;
  config: DatacaptureConfigRow | undefined;
  breaker: BreakerView;
  pushes: PushCounts;
  sync: SyncRow | undefined;
}

/** How a study's exchange with its capture system is, in one round trip. */
export async function captureOverview(tx: Tx, studyId: string): Promise<CaptureOverview> {
  const [[study], [config], [breaker], [pushes], [sync]] = await queryAll<
    [CapturedStudy, DatacaptureConfigRow, BreakerView, PushCounts, SyncRow]
  >(tx, [
    {
      sql: 'select id, study_code, study_name, datacapture_enabled from studies where id = $1',
      values: [studyId],
    },
    configStatement(studyId),
    breakerStatement(studyId),
    pushCountsStatement(studyId),
    lastSyncStatement(studyId),
  ]);
  return { study, config, breaker: breaker ?? UNUSED_BREAKER, pushes: pushes!, sync };
}
