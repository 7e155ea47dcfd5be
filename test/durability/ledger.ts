/** What clients were told, and nothing else: the checker knows no more of a run than this. */
export interface Ledger {
  studies: { hand: string; approved: string; capture: string };
  participants: { study: string; id: string; code: string }[];
  /** The date that a participant's client was told last, and how it came to be. */
  anchors: { participant: string; date: string; overridden: boolean; requested: boolean }[];
  consents: { participant: string; id: string }[];
  visits: { participant: string; id: string; email: string }[];
  sessions: {
    participant: string;
    id: string;
    visit: string | null;
    trials: number;
    summaries: Record<string, Record<string, number>>;
    offline: boolean;
  }[];
  triggers: { record: string; date: string }[];
  /** Sessions whose end was acknowledged and whose results belong into the capture system. */
  pushes: { session: string; record: string; values: Record<string, string> }[];
}

export const emptyLedger = (studies: Ledger['studies']): Ledger => ({
  studies,
  participants: [],
  anchors: [],
  consents: [],
  visits: [],
  sessions: [],
  triggers: [],
  pushes: [],
});

/** How many facts of each kind were acknowledged, in words. */
export const countsOf = (ledger: Ledger): string =>
  Object.entries(ledger)
    .filter(([, list]) => Array.isArray(list))
    .map(([kind, list]) => `${(list as unknown[]).length} ${kind}`)
    .join(', ');
