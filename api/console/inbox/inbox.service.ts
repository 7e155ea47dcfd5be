import { chosenNames } from '../../../db/console/chosen-names.queries.js';
import type { ChosenNames } from '../../../db/console/chosen-names.queries.js';
import {
  INBOX_KINDS,
  inboxFacets,
  inboxRows,
  inboxSize,
  pushStatus,
  triggerStatus,
} from '../../../db/console/inbox.queries.js';
import type { InboxFacet, InboxKind, InboxRow } from '../../../db/console/inbox.queries.js';
import type { Tx } from '../../../db/client/database.js';
import type { Settings } from '../../../settings.js';
import { lastPage } from '../routing/last-page.js';
import { inStudy, roles, staff } from '../../http/access.js';
import type { Access, Actor, Role } from '../../http/access.js';

/** Who sees a kind: users who may do the required action. */
export const inboxAccess: Record<InboxKind, Access<true>> = {
  approval: inStudy(),
  override_required: staff.participants,
  push: inStudy(),
  trigger: inStudy('researcher', 'data_manager'),
  conflict: staff.participants,
  review: staff.participants,
  workflow: roles('admin'),
};
export const kindsFor = (role: Role): InboxKind[] =>
  INBOX_KINDS.filter((kind) => inboxAccess[kind].roles.includes(role));

export const PAGE_SIZE = 50;
export interface InboxFilter {
  kind?: InboxKind | undefined;
  study?: string | undefined;
  site?: string | undefined;
  skip: number;
}
export interface Inbox {
  rows: InboxRow[];
  /** Of all the caller's items, regardless of the filter. */
  facets: InboxFacet[];
  /** The number of matching items. */
  total: number;
  filter: InboxFilter;
  /** What it is narrowed to. */
  chosen: ChosenNames;
  kinds: InboxKind[];
}

/** The caller's open work in all studies, oldest first. */
export async function loadInbox(tx: Tx, { role }: Actor, filter: InboxFilter): Promise<Inbox> {
  const kinds = kindsFor(role);
  const { kind, study, site } = filter;
  const facets = await inboxFacets(tx, kinds);
  const total = sizeOf(facets, filter);
  // The last item of the last page was done: the page before it is the last one.
  const skip = Math.min(filter.skip, lastPage(total, PAGE_SIZE));
  const shown = kind ? kinds.filter((one) => one === kind) : kinds;
  const rows = await inboxRows(tx, shown, { studyId: study, siteId: site, skip, limit: PAGE_SIZE });
  const chosen = await chosenNames(tx, facets, filter);
  return { rows, facets, total, filter: { ...filter, skip }, chosen, kinds };
}

/** The sum of these counts within a filter. */
export const sizeOf = (facets: readonly InboxFacet[], { kind, study, site }: Partial<InboxFilter>): number =>
  facets
    .filter(
      (one) => (!kind || one.kind === kind) && (!study || one.study_id === study) && (!site || one.site_id === site),
    )
    .reduce((sum, { n }) => sum + n, 0);

/** The menu's count. */
export const inboxCount = (tx: Tx, { role }: Actor): Promise<number> => inboxSize(tx, kindsFor(role));

/** An action of the page, and its status. */
export interface InboxActionResult {
  kind: 'push' | 'trigger' | 'conflict' | 'review' | 'already';
  id?: string;
  /** Of a push or trigger. */
  status?: string;
}

/** The status of the page's action; undefined: none. */
export async function outcomeOf(
  tx: Tx,
  done: string | undefined,
  id: string | undefined,
): Promise<InboxActionResult | undefined> {
  if (done === 'conflict' || done === 'review' || done === 'already') return { kind: done };
  if (id === undefined || (done !== 'push' && done !== 'trigger')) return undefined;
  const status = done === 'push' ? await pushStatus(tx, id) : await triggerStatus(tx, id);
  return status === undefined ? undefined : { kind: done, id, status };
}

/** The page of a run in the Temporal Web UI; undefined: its address is not configured. */
export const temporalPage = (
  { TEMPORAL_UI_URL, TEMPORAL_NAMESPACE }: Pick<Settings, 'TEMPORAL_UI_URL' | 'TEMPORAL_NAMESPACE'>,
  workflowId: string,
  runId: string,
): string | undefined =>
  TEMPORAL_UI_URL &&
  `${TEMPORAL_UI_URL.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(TEMPORAL_NAMESPACE)}` +
    `/workflows/${encodeURIComponent(workflowId)}/${runId}`;
