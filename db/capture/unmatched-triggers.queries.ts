import { prepared } from '../client/query.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** Anyone may send a trigger: only this many projects are counted, the most recent ones. */
const MAX_PROJECTS = 1_000;
const MAX_ID_LENGTH = 100;

export interface UnmatchedProject {
  project_id: string;
  count: number;
  first_at: string;
  last_at: string;
}

/** Counts a trigger without a matching study, by its project only. */
export async function countUnmatched(database: Database, projectId: string): Promise<void> {
  const [row] = await prepared<{ count: string }>(
    database,
    `insert into unmatched_triggers as u (project_id) values ($1)
     on conflict (project_id) do update set count = u.count + 1, last_at = clock_timestamp() returning count`,
    [[...projectId].slice(0, MAX_ID_LENGTH).join('')],
  );
  if (Number(row!.count) > 1) return;
  await prepared(
    database,
    `delete from unmatched_triggers where project_id in (select project_id from unmatched_triggers
      order by last_at desc offset $1)`,
    [MAX_PROJECTS],
  );
}

/** A study takes the project's triggers now: the earlier count is obsolete. */
export async function forgetUnmatched(tx: Tx, projectId: string): Promise<void> {
  await tx('unmatched_triggers').where({ project_id: projectId }).delete();
}

export function listUnmatched(tx: Tx, paging: Page): Promise<Listed<UnmatchedProject>> {
  return page(
    tx,
    tx('unmatched_triggers as u'),
    'u.project_id, u.count, u.first_at, u.last_at',
    paging,
    { last_at: 'u.last_at', count: 'u.count' },
    'u.project_id',
  );
}
