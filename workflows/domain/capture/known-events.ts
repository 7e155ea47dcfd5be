/** An event of the capture system, as the service knows it. */
export interface KnownEvent {
  /** The unique name that windows, mapping and visits have for it. */
  name: string;
  label: string;
  arm: number;
  /** What visits without a window are known by, whatever the event is called later. */
  identity: string;
  /** The name under which `sync-events` told of it last. */
  told: string;
  /** Names that it had before. */
  former: string[];
  /** The capture system has it no more. */
  gone?: boolean;
  /** Of one that is gone: the last name that the capture system had for it. */
  was?: string;
}
/** By event id. */
export type KnownEvents = Readonly<Record<string, KnownEvent>>;

/** An event as an export names it. */
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
 * Compares the events that are known with those that the capture system lists. An event is known by its id. One that
 * was deleted and made again under its name, or unique name, has another id: it takes the place of the one that is
 * gone. An event whose name went to another one keeps a name of its own, so that nobody's results go to the wrong event.
 * @returns what is known from now on, and each event that is called otherwise now
 */
export function followEvents(
  known: KnownEvents,
  listed: readonly ListedEvent[],
): { known: KnownEvents; renames: EventRename[] } {
  // A list without ids, or without events, tells of no rename and of no deletion.
  if (listed.length === 0 || listed.some(({ event_id, unique_event_name }) => event_id === '' || !unique_event_name))
    return { known, renames: [] };
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

/** An identity that no other event has: an id that was deleted may come again while another event has its place. */
function freeIdentity(name: string, eventId: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let identity = `${name}#${eventId}`;
  for (let n = 2; taken.has(identity); n += 1) identity = `${name}#${eventId}.${n}`;
  return identity;
}

/**
 * Of the events that are gone the one that had this unique name last, or in the same arm this name; it is not gone any
 * more.
 */
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

/** @param names the names that are taken */
function absent(before: KnownEvent, listed: readonly ListedEvent[], names: Set<string>): KnownEvent {
  const entry = { ...before, gone: true, was: before.was ?? before.name };
  if (!listed.some((event) => event.unique_event_name === before.name)) return entry;
  let name = `${before.name} (deleted)`;
  for (let n = 2; names.has(name); n += 1) name = `${before.name} (deleted ${n})`;
  names.add(name);
  return { ...entry, name };
}

/** The present name of an event that was called so; a name that the capture system has now stays what it is. */
export function presentName(known: KnownEvents, name: string): string {
  const events = Object.values(known).filter(({ gone }) => !gone);
  if (events.some((event) => event.name === name)) return name;
  const renamed = events.filter(({ former }) => former.includes(name));
  return renamed.length === 1 ? renamed[0]!.name : name;
}

/** A name after a rename. */
export const renamed = (renames: readonly EventRename[], name: string): string =>
  renames.find(({ from }) => from === name)?.to ?? name;

/** A mapping by event after a rename; an entry that stands under the new name already stays. */
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

/** What a mapping's entry is known by, where it is another name than its own. */
export function eventIdentity(known: KnownEvents, name: string): string | undefined {
  const event = Object.values(known).find((each) => each.name === name);
  return event && event.identity !== name ? event.identity : undefined;
}
