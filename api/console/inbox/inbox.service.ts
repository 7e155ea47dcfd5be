import { countWaitingApprovals, waitingApprovals } from '../../../db/anchor/override-requests.queries.js';
import type { Tx } from '../../../db/client/database.js';
import type { Actor } from '../../http/access.js';
import type { Words } from '../words/words.js';
import type { Language } from '../words/words.js';
import { dateText } from '../html/dates.js';

export type InboxKind = keyof Words['inbox']['kinds'];

/** One thing that waits for a person. */
export interface InboxItem {
  kind: InboxKind;
  id: string;
  /** Since when it waits. */
  since: string | Date;
  /** Until when it can be decided. */
  due?: string | Date;
  study: { id: string; code: string };
  participant?: string;
  site?: string | null;
  /** What it is about, in the reader's language. */
  what: (words: Words, language: Language) => string;
  /** The page on which it is decided. */
  href: string;
}
export interface InboxFilter {
  study_id?: string | undefined;
  skip: number;
  limit: number;
}

/** A kind of what waits: where it is read, and how many there are. */
export interface InboxSource {
  kind: InboxKind;
  /** Oldest first. */
  list: (tx: Tx, actor: Actor, filter: InboxFilter) => Promise<InboxItem[]>;
  count: (tx: Tx, actor: Actor, studyId?: string) => Promise<number>;
}

const approvals: InboxSource = {
  kind: 'approval',
  list: async (tx, _actor, filter) =>
    (await waitingApprovals(tx, filter)).map((row) => ({
      kind: 'approval',
      id: row.id,
      since: row.requested_at,
      due: row.expires_at,
      study: { id: row.study_id, code: row.study_code },
      participant: row.participant_code,
      site: row.site_code,
      what: (words, language) =>
        words.inbox.approval(dateText(language, row.enrollment_date), dateText(language, row.new_enrollment_date)),
      href: `/console/approvals/${row.id}`,
    })),
  count: (tx, _actor, studyId) => countWaitingApprovals(tx, studyId),
};

/** What the inbox is made of. Another kind adds itself here. */
export const inboxSources: readonly InboxSource[] = [approvals];

/** What waits, over all kinds, oldest first, and how much there is. */
export async function inboxItems(
  tx: Tx,
  actor: Actor,
  { skip, limit, ...filter }: InboxFilter & { kind?: InboxKind | undefined },
): Promise<{ items: InboxItem[]; total: number }> {
  const sources = inboxSources.filter(({ kind }) => !filter.kind || kind === filter.kind);
  const items: InboxItem[] = [];
  let total = 0;
  // Each gives what could be on the page if it were alone. One after another: they share a transaction.
  for (const source of sources) {
    items.push(...(await source.list(tx, actor, { study_id: filter.study_id, skip: 0, limit: skip + limit })));
    total += await source.count(tx, actor, filter.study_id);
  }
  items.sort((a, b) => new Date(a.since).getTime() - new Date(b.since).getTime());
  return { items: items.slice(skip, skip + limit), total };
}

/** The count of the menu. */
export async function inboxCount(tx: Tx, actor: Actor): Promise<number> {
  let total = 0;
  for (const { count } of inboxSources) total += await count(tx, actor);
  return total;
}
