import type { KnownEvents } from './known-events.js';

/** The arm of an event; undefined if neither the known events nor its name tell. */
export function armOf(known: KnownEvents, event: string): number | undefined {
  const found = Object.values(known).find(({ name }) => name === event)?.arm;
  const named = /_arm_(\d+)[a-z]?$/.exec(event)?.[1];
  return found ?? (named === undefined ? undefined : Number(named));
}

/** The arm of an enrollment, if the project has several; else undefined. */
export function enrollmentArm(known: KnownEvents, event: string): number | undefined {
  const arms = new Set(
    Object.values(known)
      .filter(({ gone }) => !gone)
      .map(({ arm }) => arm),
  );
  return arms.size > 1 && event !== '' ? armOf(known, event) : undefined;
}
