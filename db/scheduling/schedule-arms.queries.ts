interface OfEvent {
  datacapture_event: string | null;
}
interface ArmSources<Window extends OfEvent, Entry, Event extends OfEvent> {
  windows: Window[];
  /** By the event's name. */
  mapping: Record<string, Entry>;
  events: Event[];
}

/**
 * The sources of a schedule for a participant in a capture-system arm: entries of events belong to an arm, and only
 * those of its own are kept. A participant without an arm has all.
 */
export function sourcesByArm<Window extends OfEvent, Entry, Event extends OfEvent>({
  windows,
  mapping,
  events,
  event_arms,
}: ArmSources<Window, Entry, Event> & { event_arms: Record<string, number> }): (
  arm: number | undefined,
) => ArmSources<Window, Entry, Event> {
  const everything = { windows, mapping, events };
  const known = new Map<number, ArmSources<Window, Entry, Event>>();
  return (arm) => {
    if (arm === undefined) return everything;
    const found = known.get(arm);
    if (found) return found;
    const own = (event: string | null) => event === null || (event_arms[event] ?? arm) === arm;
    const sources = {
      windows: windows.filter((window) => own(window.datacapture_event)),
      mapping: Object.fromEntries(Object.entries(mapping).filter(([event]) => own(event))),
      events: events.filter((event) => own(event.datacapture_event)),
    };
    known.set(arm, sources);
    return sources;
  };
}
