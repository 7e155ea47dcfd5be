import type { Person, Stage } from '../anchor/stage.js';

/** What a participant's workflow is found by in Temporal. */
export const attributes = async (stage: Stage, person: Person): Promise<Record<string, unknown[]>> =>
  (await stage.handle(person.id).describe()).searchAttributes as Record<string, unknown[]>;

/** What Temporal's page shows of it. */
export const details = async (stage: Stage, person: Person): Promise<string> =>
  (await stage.handle(person.id).query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
