import { randomUUID } from 'node:crypto';
import { visitKey } from '../../audit/hashing.js';
import { BATTERY_KEYS, KEYS_OF_USERS } from './batteries.js';
import type { StudyDocument } from './document.js';

type Row = Record<string, unknown>;
/** A document refers to something that it does not contain. */
export class ForeignReference extends Error {}
/** References that must be within the document: otherwise rows would point to another study's records. */
const REFERENCES = [
  'participant_id',
  'caregiver_id',
  'site_id',
  'anchor_date_id',
  'history_id',
  'schedule_version_id',
  'visit_window_id',
  'event_definition_id',
];
const OWN_REFERENCES: Record<string, string> = {
  session_tasks: 'session_id',
  raw_trial_chunks: 'session_id',
  assessment_sessions: 'visit_id',
  notifications: 'visit_id',
};
/** Their references may be to removed rows, and are not checked. */
const TELLING = new Set(['domain_events', 'visit_states']);
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Trials contain what tasks recorded: only these references are ids of this service. */
const DATA_TABLES: Record<string, readonly string[]> = { raw_trial_chunks: ['session_id', 'study_id'] };

/**
 * New ids for everything in a document, and its rows with them, wherever an id occurs: in references, in facts and
 * traces of decisions, in events. Ids of users stay: they are not part of the document.
 */
export class NewIds {
  private readonly ids = new Map<string, string>();
  private readonly batteries = new Map<number, number>();
  private readonly unknown: ReadonlySet<number>;
  /** Batteries that visits and the event mapping name but the document lacks: they are left out. */
  readonly unknownBatteries: readonly number[];

  constructor(
    private readonly document: StudyDocument,
    studyId: string,
  ) {
    for (const rows of Object.values(document.tables))
      for (const { id } of rows) if (typeof id === 'string') this.ids.set(id, randomUUID());
    this.requireOwn();
    this.unknown = this.strangeBatteries();
    this.unknownBatteries = [...this.unknown];
    this.ids.set(String(document.study.id), studyId);
    this.keys();
  }

  battery(from: number, to: number): void {
    this.batteries.set(from, to);
  }

  /** A template's mappings with the batteries that were loaded; an event whose battery was not is left out. */
  withLoadedBatteries({ event_battery_mapping: events, ...others }: Row): Row {
    if (typeof events !== 'object' || events === null) return { ...others, event_battery_mapping: events };
    const mapped = Object.entries(events as Record<string, Row | null>).flatMap(([event, entry]) => {
      const battery_id = this.batteries.get(Number(entry?.battery_id));
      return battery_id === undefined ? [] : [[event, { ...entry, battery_id }] as const];
    });
    return { ...others, event_battery_mapping: Object.fromEntries(mapped) };
  }

  rowsOf(table: string): Row[] {
    const rows = this.document.tables[table] ?? [];
    const only = DATA_TABLES[table];
    if (only)
      return rows.map((row) => ({
        ...row,
        ...Object.fromEntries(only.map((name) => [name, this.replaced(String(row[name]))])),
      }));
    return rows.map((row) => this.withBatteries(JSON.parse(this.replaced(JSON.stringify(row)))) as Row);
  }

  /** @throws ForeignReference */
  private requireOwn(): void {
    const { batteries = [], ...others } = this.document.tables;
    const numbers = new Set(batteries.map(({ id }) => id));
    for (const [table, rows] of Object.entries(others)) {
      if (TELLING.has(table)) continue;
      const columns = [...REFERENCES, ...(OWN_REFERENCES[table] ? [OWN_REFERENCES[table]] : [])];
      for (const [i, row] of rows.entries()) {
        const strange =
          columns.find((column) => row[column] != null && !this.ids.has(String(row[column]))) ??
          (table !== 'scheduled_visits' && row.battery_id != null && !numbers.has(row.battery_id)
            ? 'battery_id'
            : undefined);
        if (strange) throw new ForeignReference(`tables.${table}.${i}.${strange} is not in the document`);
      }
    }
  }

  /** A configuration could once name any battery, and its visits have those names. */
  private strangeBatteries(): Set<number> {
    const { batteries = [], scheduled_visits: visits = [], datacapture_configs: configs = [] } = this.document.tables;
    const own = new Set(batteries.map(({ id }) => id));
    const mapped = configs.flatMap(({ event_battery_mapping: mapping }) =>
      Object.values((mapping ?? {}) as Record<string, { battery_id?: unknown } | null>).map(
        (entry) => entry?.battery_id,
      ),
    );
    const named = [...visits.map(({ battery_id }) => battery_id), ...mapped];
    return new Set(named.filter((id): id is number => typeof id === 'number' && !own.has(id)));
  }

  private replaced(text: string): string {
    return text.replaceAll(UUID, (id) => this.ids.get(id) ?? id);
  }

  /** The key of a visit depends on its participant and its identity (its window or event): it is recomputed. */
  private keys(): void {
    const {
      scheduled_visits: visits = [],
      visit_windows: windows = [],
      event_definitions: events = [],
      datacapture_configs: configs = [],
    } = this.document.tables;
    // A renamed event is known by its first name; visits whose event somebody changed, by the one that planned them.
    const known = new Set([
      ...configs.flatMap(({ known_events }) =>
        Object.values((known_events ?? {}) as Record<string, { identity: string }>).map(({ identity }) => identity),
      ),
      ...configs.flatMap(({ event_battery_mapping }) => Object.keys((event_battery_mapping ?? {}) as Row)),
      ...windows.flatMap(({ datacapture_event }) => (datacapture_event ? [String(datacapture_event)] : [])),
    ]);
    const named = [...known].flatMap(eventIdentities);
    for (const visit of visits) {
      const old = String(visit.visit_key);
      if (this.ids.has(old)) continue;
      const participant = String(visit.participant_id);
      const identity = [...identitiesOf(visit, windows, events), ...named].find(
        (one) => visitKey(participant, one) === old,
      );
      // A visit scheduled by hand has a key of its own.
      this.ids.set(
        old,
        identity === undefined ? randomUUID() : visitKey(this.replaced(participant), this.replaced(identity)),
      );
    }
  }

  private withBatteries(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.withBatteries(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        BATTERY_KEYS.has(key) && typeof item === 'number'
          ? (this.batteries.get(item) ?? (this.unknown.has(item) ? null : item))
          : KEYS_OF_USERS.has(key)
            ? item
            : this.withBatteries(item),
      ]),
    );
  }
}

/** Of an event's visits; the second one while its name is the former one of another event. */
const eventIdentities = (event: string): string[] => [`event:${event}`, `event:${event}#`];

/** The possible identities of a visit (workflows/domain/scheduling: schedule.ts, events/plan.ts). */
function identitiesOf(
  { visit_window_id, datacapture_event, changed_from, event_definition_id, event_occurrence }: Row,
  windows: readonly Row[],
  events: readonly Row[],
): string[] {
  const own = [
    ...(visit_window_id ? [`window:${String(visit_window_id)}`] : []),
    ...[datacapture_event, (changed_from as Row | null)?.datacapture_event].flatMap((event) =>
      event ? eventIdentities(String(event)) : [],
    ),
    ...(event_definition_id ? [`event-def:${String(event_definition_id)}#${String(event_occurrence)}`] : []),
  ];
  // Its window or event may have been deleted from the plan.
  return [
    ...own,
    ...windows.map(({ id }) => `window:${String(id)}`),
    ...events.map(({ id }) => `event-def:${String(id)}#${String(event_occurrence)}`),
  ];
}
