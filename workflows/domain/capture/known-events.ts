/** An event of the capture system, as the service knows it. */
export interface KnownEvent {
  /** Its unique name in windows, mapping and visits. */
  name: string;
  label: string;
  arm: number;
  /** The identity of its visits without a window, which survives renames. */
  identity: string;
  /** The name in the last report of `sync-events`. */
  told: string;
  /** Its former names. */
  former: string[];
  /** The capture system no longer has it. */
  gone?: boolean;
  /** For a deleted event: its last name in the capture system. */
  was?: string;
}
/** By event id. */
export type KnownEvents = Readonly<Record<string, KnownEvent>>;

/** An event in an export. */
export interface ListedEvent {
  event_id: string;
  unique_event_name: string;
  event_name: string;
  arm_num: number;
}

export interface EventRename {
  from: string;
  to: string;
  label_from: string;
  label_to: string;
}

/**
 * Compares the known events with those that the capture system lists. The id identifies an event. One that was deleted
 * and created again under its name, or unique name, has another id: it replaces the deleted one. An event whose name
 * went to another one keeps a name of its own, so that no results go to the wrong event.
 * @returns the events known from now on, and each renamed event
 */
export function followEvents(
  known: KnownEvents,
  list: readonly ListedEvent[],
): { known: KnownEvents; renames: EventRename[] } {
  const listed = withIds(known, list);
  if (listed.length === 0) return { known, renames: [] };
  const ids = new Set(listed.map(({ event_id }) => event_id));
  const gone = new Map(Object.entries(known).filter(([id]) => !ids.has(id)));
  const after = new Map<string, KnownEvent>();
  const renames: EventRename[] = [];
  const note = (from: KnownEvent, to: KnownEvent) => {
    if (from.name !== to.name || from.label !== to.label)
      renames.push({ from: from.name, to: to.name, label_from: from.label, label_to: to.label });
  };
  for (const event of listed) {
    const own = known[event.event_id];
    const before = own ?? takePlace(gone, event, listed);
    if (!before) continue;
    const entry = present(before, event);
    note(before, entry);
    after.set(event.event_id, entry);
  }
  const names = new Set([...listed.map((event) => event.unique_event_name), ...[...gone.values()].map((e) => e.name)]);
  for (const [id, before] of gone) {
    const entry = absent(before, listed, names);
    note(before, entry);
    after.set(id, entry);
  }
  const identities = new Set([...after.values()].map(({ identity }) => identity));
  for (const event of listed.filter(({ event_id }) => !after.has(event_id))) {
    const { event_id, unique_event_name: name, event_name: label, arm_num: arm } = event;
    const identity = freeIdentity(name, event_id, identities);
    identities.add(identity);
    after.set(event_id, { name, label, arm, identity, told: name, former: [] });
  }
  return { known: Object.fromEntries(after), renames };
}

const BY_NAME = 'name:';

/**
 * The listed events, each with an id. A capture system of an older release lists no ids: there the unique name is one,
 * which tells the arm of an event, and no rename. A list without events, or without ids where some are known, reveals
 * nothing: it is empty then.
 */
function withIds(known: KnownEvents, listed: readonly ListedEvent[]): readonly ListedEvent[] {
  if (listed.some((event) => event.unique_event_name === '')) return [];
  if (listed.every((event) => event.event_id !== '')) return listed;
  const isNamed = Object.keys(known).every((id) => id.startsWith(BY_NAME));
  if (!isNamed || listed.some((event) => event.event_id !== '')) return [];
  return listed.map((event) => ({ ...event, event_id: `${BY_NAME}${event.unique_event_name}` }));
}

/** A unique identity: a deleted id may return while another event has its identity. */
function freeIdentity(name: string, eventId: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let identity = `${name}#${eventId}`;
  for (let n = 2; taken.has(identity); n += 1) identity = `${name}#${eventId}.${n}`;
  return identity;
}

/** The deleted event that last had this unique name, or this name in the same arm; it then counts as existing again. */
function takePlace(
  gone: Map<string, KnownEvent>,
  { unique_event_name, event_name, arm_num }: ListedEvent,
  listed: readonly ListedEvent[],
): KnownEvent | undefined {
  const all = [...gone];
  const last = (event: KnownEvent) => event.was ?? event.name;
  const names = new Set(listed.map((event) => event.unique_event_name));
  const found =
    all.find(([, event]) => last(event) === unique_event_name) ??
    all.find(
      ([, event]) =>
        !names.has(last(event)) && event.arm === arm_num && event_name !== '' && event.label === event_name,
    );
  if (!found) return undefined;
  gone.delete(found[0]);
  return found[1];
}

const formerOf = (event: KnownEvent, name: string): string[] =>
  [...new Set([...event.former, ...(event.gone ? [] : [event.name])])].filter((each) => each !== name);

function present(before: KnownEvent, event: ListedEvent): KnownEvent {
  const { unique_event_name: name, event_name: label, arm_num: arm } = event;
  return { name, label, arm, identity: before.identity, told: before.told, former: formerOf(before, name) };
}

/** @param names the taken names */
function absent(before: KnownEvent, listed: readonly ListedEvent[], names: Set<string>): KnownEvent {
  const entry = { ...before, gone: true, was: before.was ?? before.name };
  if (!listed.some((event) => event.unique_event_name === before.name)) return entry;
  let name = `${before.name} (deleted)`;
  for (let n = 2; names.has(name); n += 1) name = `${before.name} (deleted ${n})`;
  names.add(name);
  return { ...entry, name };
}

/**
 * The events among these that the capture system still has, which refuses to be asked for one that was deleted. All of
 * them if it has none.
 */
export function standingEvents(known: KnownEvents, names: readonly string[]): readonly string[] {
  const gone = new Set(Object.values(known).flatMap((event) => (event.gone ? event.name : [])));
  const standing = names.filter((name) => !gone.has(name));
  return standing.length > 0 ? standing : names;
}

/** The present name of an event with this former name; a present name stays. */
export function presentName(known: KnownEvents, name: string): string {
  const events = Object.values(known).filter(({ gone }) => !gone);
  if (events.some((event) => event.name === name)) return name;
  const renamed = events.filter(({ former }) => former.includes(name));
  return renamed.length === 1 ? renamed[0]!.name : name;
}

/** A name after a rename. */
export const renamed = (renames: readonly EventRename[], name: string): string =>
  renames.find(({ from }) => from === name)?.to ?? name;

/** A mapping by event after a rename; an existing entry under the new name stays. */
export function renamedKeys<T>(
  renames: readonly EventRename[],
  mapping: Readonly<Record<string, T>>,
): Record<string, T> {
  const moved = renames.filter(({ from, to }) => from !== to && Object.hasOwn(mapping, from));
  const from = new Set(moved.map((rename) => rename.from));
  return Object.fromEntries([
    ...moved.map((rename) => [rename.to, mapping[rename.from]] as [string, T]),
    ...Object.entries(mapping).filter(([name]) => !from.has(name)),
  ]);
}

/** The identity of a mapping's entry, if it differs from its name. */
export function eventIdentity(known: KnownEvents, name: string): string | undefined {
  const event = Object.values(known).find((each) => each.name === name);
  return event && event.identity !== name ? event.identity : undefined;
}
