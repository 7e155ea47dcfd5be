import { EVENT_COLUMNS } from '../scheduling/event-definitions.queries.js';
import type { EventDefinitionRecord } from '../scheduling/event-definitions.queries.js';
import { STUDY_COLUMNS } from '../studies/studies.queries.js';
import type { StudyRecord } from '../studies/studies.queries.js';
import { queryAll } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface BatteryName {
  id: number;
  name: string;
  status: string;
}

/** The events of a study's protocol in order, and the batteries that they can name, in one round trip. */
export async function eventsOfStudy(
  tx: Tx,
  studyId: string,
): Promise<{ study: StudyRecord | undefined; events: EventDefinitionRecord[]; batteries: BatteryName[] }> {
  const [[study], events, batteries] = await queryAll<[StudyRecord, EventDefinitionRecord, BatteryName]>(tx, [
    { sql: `select ${STUDY_COLUMNS} from studies where id = $1`, values: [studyId] },
    {
      sql: `select ${EVENT_COLUMNS} from event_definitions where study_id = $1 order by sort_order, target_day,
        event_oid`,
      values: [studyId],
    },
    { sql: 'select id, name, status from batteries where study_id = $1 order by code', values: [studyId] },
  ]);
  return { study, events, batteries };
}
