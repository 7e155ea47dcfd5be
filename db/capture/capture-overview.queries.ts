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
/** The state of a study's integration with its capture system. */
export interface CaptureOverview {
  study: CapturedStudy | undefined;
  config: DatacaptureConfigRow | undefined;
  breaker: BreakerView;
  pushes: PushCounts;
  sync: SyncRow | undefined;
}

/** Reads the state of a study's integration in one round trip. */
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
