import type { KnownEvents } from './known-events.js';

/** The arm of an event; undefined if neither the known events nor its name tell. */
export function armOf(known: KnownEvents, event: string): number | undefined {
  const found = Object.values(known).find(({ name }) => name === event)?.arm;
  const named = /_arm_(\d+)[a-z]?$/.exec(event)?.[1];
  return found ?? (named === undefined ? undefined : Number(named));
}

/** The arms of the events that the capture system has. */
const armsOf = (known: KnownEvents): Set<number> =>
  new Set(
    Object.values(known)
      .filter(({ gone }) => !gone)
      .map(({ arm }) => arm),
  );

/** The arm of an enrollment, if the project has several; else undefined. */
export const enrollmentArm = (known: KnownEvents, event: string): number | undefined =>
  armsOf(known).size > 1 && event !== '' ? armOf(known, event) : undefined;

/**
 * Whether a project has come to have several arms: until then no participant has one. `only` is the arm in which all of
 * them are; undefined: unknown.
 */
export function newArms(before: KnownEvents, after: KnownEvents): { only: number | undefined } | undefined {
  const former = [...armsOf(before)];
  return former.length <= 1 && armsOf(after).size > 1 ? { only: former[0] } : undefined;
}
