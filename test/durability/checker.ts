import type { Ledger } from './ledger.js';

/** What stands in the service, in the capture system and in the mailboxes when a run is over. */
export interface Observed {
  participants: {
    id: string;
    study: string;
    code: string;
    external_id: string | null;
    enrollment_date: string | null;
  }[];
  anchors: { participant: string; date: string | null; status: string; version: number }[];
  /** Entry types of each participant, in order. */
  histories: { participant: string; types: string[] }[];
  events: { participant: string; types: string[] }[];
  consents: { id: string; participant: string }[];
  visits: { id: string; participant: string; status: string; session_id: string | null; by_hand: boolean }[];
  sessions: {
    id: string;
    participant: string;
    visit_id: string | null;
    status: string;
    sync_status: string | null;
    summaries: Record<string, Record<string, number>>;
    trials: number;
  }[];
  triggers: { record: string; status: string; outcome: string | null }[];
  /** Accepted changes by the service in the capture system, and what stands there. */
  written: { record: string; fields: string[] }[];
  standing: Record<string, Record<string, string>>;
  reminders: { visit: string; status: string }[];
  mails: { to: string; id: string }[];
  /** Rules of the data itself that do not hold. */
  broken: string[];
  chains: { chain: string; valid: boolean; problem: string | null }[];
  /** What still waits, runs or has failed in Temporal. */
  unconverged: string[];
}

/**
 * Holds what is there against what was acknowledged. Answers in words everything that was lost, done twice, or does
 * not fit together.
 */
export function faultsOf(ledger: Ledger, seen: Observed): string[] {
  return [
    ...enrolled(ledger, seen),
    ...dated(ledger, seen),
    ...consented(ledger, seen),
    ...tested(ledger, seen),
    ...triggered(ledger, seen),
    ...pushed(ledger, seen),
    ...reminded(ledger, seen),
    ...seen.broken,
    ...seen.chains
      .filter(({ valid }) => !valid)
      .map(({ chain, problem }) => `chain ${chain} does not verify: ${problem}`),
    ...seen.unconverged,
  ];
}

const by = <T>(list: readonly T[], key: (one: T) => string): Map<string, T[]> => {
  const map = new Map<string, T[]>();
  for (const one of list) map.set(key(one), [...(map.get(key(one)) ?? []), one]);
  return map;
};
/** One of each that was acknowledged, and nothing else. */
function exactly(what: string, acknowledged: readonly string[], there: readonly string[]): string[] {
  const counts = by(there, (key) => key),
    known = new Set(acknowledged);
  return [
    ...[...known].flatMap((key) => {
      const n = counts.get(key)?.length ?? 0;
      return n === 1
        ? []
        : [n === 0 ? `${what} ${key} was acknowledged and is lost` : `${what} ${key} is there ${n} times`];
    }),
    ...[...counts.keys()].filter((key) => !known.has(key)).map((key) => `${what} ${key} is there and nobody made it`),
  ];
}

function enrolled(ledger: Ledger, seen: Observed): string[] {
  return exactly(
    'participant',
    [
      ...ledger.participants.map(({ study, code }) => `${study}/${code}`),
      ...ledger.triggers.map(({ record }) => `${ledger.studies.capture}/record ${record}`),
    ],
    seen.participants.map((p) =>
      p.external_id === null ? `${p.study}/${p.code}` : `${p.study}/record ${p.external_id}`,
    ),
  );
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i]);

function dated(ledger: Ledger, seen: Observed): string[] {
  const anchors = new Map(seen.anchors.map((a) => [a.participant, a])),
    histories = new Map(seen.histories.map((h) => [h.participant, h.types])),
    events = new Map(seen.events.map((e) => [e.participant, e.types]));
  const captured = seen.participants.filter((p) => p.study === ledger.studies.capture);
  const given = new Map(ledger.triggers.map(({ record, date }) => [record, date]));
  return [
    ...ledger.anchors.flatMap(({ participant, date, overridden, requested }) => {
      const entries = [
        'PROPOSED',
        'FINALIZED',
        ...(overridden ? [...(requested ? ['OVERRIDE_REQUESTED'] : []), 'OVERRIDE_GRANTED'] : []),
      ];
      const told = [...entries, ...(overridden ? ['CHANGED'] : [])].map((type) => `ENROLLMENT_DATE_${type}`).sort();
      return judge(participant, date, entries, told);
    }),
    ...captured.flatMap((p) =>
      judge(p.id, given.get(p.external_id ?? '') ?? 'unknown', ['SET'], ['ENROLLMENT_DATE_SET']),
    ),
  ];

  function judge(participant: string, date: string, entries: string[], told: string[]): string[] {
    const anchor = anchors.get(participant),
      types = histories.get(participant) ?? [],
      had = [...(events.get(participant) ?? [])].sort();
    return [
      ...(anchor?.date === date && anchor.status === 'finalized'
        ? []
        : [`anchor of ${participant} was acknowledged as ${date} and is ${anchor?.date} (${anchor?.status})`]),
      ...(same(types, entries) ? [] : [`history of ${participant} is ${types.join(', ')}, not ${entries.join(', ')}`]),
      ...(same(had, told) ? [] : [`events of ${participant} are ${had.join(', ')}, not ${told.join(', ')}`]),
    ];
  }
}

function consented(ledger: Ledger, seen: Observed): string[] {
  return exactly(
    'consent',
    ledger.consents.map(({ participant, id }) => `${participant}/${id}`),
    seen.consents.map(({ participant, id }) => `${participant}/${id}`),
  );
}

function tested(ledger: Ledger, seen: Observed): string[] {
  const sessions = new Map(seen.sessions.map((s) => [s.id, s])),
    visits = new Map(seen.visits.map((v) => [v.id, v]));
  return [
    ...exactly(
      'session',
      ledger.sessions.map(({ id }) => id),
      seen.sessions.map(({ id }) => id),
    ),
    ...ledger.sessions.flatMap((told) => {
      const session = sessions.get(told.id);
      if (!session) return [];
      const visit = told.visit === null ? undefined : visits.get(told.visit);
      return [
        ...(session.status === 'completed' ? [] : [`session ${told.id} was ended and is ${session.status}`]),
        ...(session.trials === told.trials
          ? []
          : [`session ${told.id} has ${session.trials} trials of ${told.trials} that were acknowledged`]),
        ...(JSON.stringify(session.summaries) === JSON.stringify(told.summaries)
          ? []
          : [`session ${told.id} has other summaries than were acknowledged: ${JSON.stringify(session.summaries)}`]),
        ...(told.visit === null || (visit?.status === 'completed' && visit.session_id === told.id)
          ? []
          : [`visit ${told.visit} of session ${told.id} is ${visit?.status}`]),
      ];
    }),
  ];
}

function triggered(ledger: Ledger, seen: Observed): string[] {
  const events = by(seen.triggers, ({ record }) => record);
  return ledger.triggers.flatMap(({ record }) => {
    const found = events.get(record) ?? [],
      statuses = found.map(({ status }) => status);
    const made = found.filter(({ status, outcome }) => status === 'processed' && outcome === 'created').length;
    const doubles = statuses.filter((status) => status === 'duplicate').length;
    return made === 1 && made + doubles === statuses.length
      ? []
      : [`trigger of ${record} was acknowledged and is recorded as ${statuses.join(', ') || 'nothing'}`];
  });
}

function pushed(ledger: Ledger, seen: Observed): string[] {
  const sessions = new Map(seen.sessions.map((s) => [s.id, s]));
  return [
    ...exactly(
      'push of record',
      ledger.pushes.map(({ record }) => record),
      seen.written.map(({ record }) => record),
    ),
    ...ledger.pushes.flatMap(({ session, record, values }) => [
      ...(sessions.get(session)?.sync_status === 'synced'
        ? []
        : [`session ${session} is not synced but ${sessions.get(session)?.sync_status}`]),
      ...Object.entries(values)
        .filter(([field, value]) => seen.standing[record]?.[field] !== value)
        .map(([field, value]) => `record ${record} has ${field} ${seen.standing[record]?.[field]}, not ${value}`),
    ]),
  ];
}

function reminded(ledger: Ledger, seen: Observed): string[] {
  const mails = by(seen.mails, ({ to }) => to),
    reminders = by(seen.reminders, ({ visit }) => visit);
  return [
    ...exactly(
      'visit by hand',
      ledger.visits.map(({ id }) => id),
      seen.visits.filter(({ by_hand }) => by_hand).map(({ id }) => id),
    ),
    ...ledger.visits.flatMap(({ id, email }) => {
      const rows = (reminders.get(id) ?? []).map(({ status }) => status),
        sent = mails.get(email)?.length ?? 0;
      return [
        ...(same(rows, ['sent']) ? [] : [`reminder of visit ${id} is ${rows.join(', ') || 'not there'}`]),
        ...(sent === 1 ? [] : [`visit ${id} was reminded of by ${sent} mails`]),
      ];
    }),
  ];
}
