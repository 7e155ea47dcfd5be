import { alternatives, isObject } from './alternatives.js';
import type { Alternative, Json, Resolve } from './alternatives.js';

/** One thing that breaks a caller. */
export interface Break {
  rule: Rule;
  /** The operation and the place in it. */
  at: string;
  message: string;
}
export type Rule =
  | 'operation-removed'
  | 'operation-id-changed'
  | 'parameter-removed'
  | 'parameter-required'
  | 'body-required'
  | 'body-removed'
  | 'media-type-removed'
  | 'security-narrowed'
  | 'status-removed'
  | 'header-removed'
  | 'request-narrowed'
  | 'request-field-removed'
  | 'request-field-required'
  | 'answer-field-removed'
  | 'answer-field-optional'
  | 'answer-type-changed'
  | 'webhook-removed';

/** `request`: everything accepted before is still accepted. `answer`: everything returned was promised. */
export type Direction = 'request' | 'answer';
export interface Side {
  schema: unknown;
  resolve: Resolve;
}

/**
 * Compares schemas of two documents, each with its own references. Recursive schemas are compared once: a pair in
 * progress counts as matching.
 */
export class Comparison {
  private readonly known = new Map<object, Map<object, readonly Break[]>>();

  constructor(private readonly direction: Direction) {}

  /** @param before the last release's schema, `now` the present one; places begin at `at` */
  compare(before: Side, now: Side, at: string): Break[] {
    const [base, next] = [before.resolve(before.schema), now.resolve(now.schema)];
    if (!isObject(base) || !isObject(next)) return this.fresh(before, now).map((one) => placed(one, at));
    const ofBase = this.known.get(base) ?? new Map<object, readonly Break[]>();
    this.known.set(base, ofBase);
    let found = ofBase.get(next);
    if (!found) {
      ofBase.set(next, []);
      found = this.fresh(before, now);
      ofBase.set(next, found);
    }
    return found.map((one) => placed(one, at));
  }

  private fresh(before: Side, now: Side): Break[] {
    const inner = this.direction === 'request' ? before : now;
    const outer = this.direction === 'request' ? now : before;
    const taken = alternatives(outer.schema, outer.resolve);
    return alternatives(inner.schema, inner.resolve).flatMap((one) => this.covered(one, taken, inner, outer));
  }

  /** Whether one of the outer side's alternatives includes this one; else the fault of the nearest one. */
  private covered(one: Alternative, taken: readonly Alternative[], inner: Side, outer: Side): Break[] {
    const alike = taken.filter((other) => isKind(one.type, other.type, this.direction));
    let nearest: Break[] | undefined;
    for (const other of alike) {
      const breaks = this.inside(one, other, inner, outer);
      if (breaks.length === 0) return [];
      if (!nearest || breaks.length < nearest.length) nearest = breaks;
    }
    if (nearest) return nearest;
    const kinds = taken.map(({ type }) => type).join(' or ') || 'nothing';
    return [
      this.direction === 'request'
        ? { rule: 'request-narrowed', at: '', message: `${one.type} was taken, now ${kinds}` }
        : { rule: 'answer-type-changed', at: '', message: `may be ${one.type} now, was ${kinds}` },
    ];
  }

  private inside(one: Alternative, other: Alternative, inner: Side, outer: Side): Break[] {
    return [
      ...(this.direction === 'request' ? narrowedRules(one, other) : changedFormat(one, other)),
      ...(one.type === 'array' && other.type === 'array'
        ? this.parts(one.items ?? true, other.items ?? true, inner, outer, '[]')
        : []),
      ...(one.type === 'object' && other.type === 'object' ? this.objects(one, other, inner, outer) : []),
    ];
  }

  private objects(one: Alternative, other: Alternative, inner: Side, outer: Side): Break[] {
    const [mine, theirs] = [propertiesOf(one), propertiesOf(other)];
    const breaks: Break[] = [];
    const requiredHere = new Set((one.required as string[] | undefined) ?? []);
    for (const name of (other.required as string[] | undefined) ?? [])
      if (!requiredHere.has(name) && (this.direction === 'request' || name in mine))
        breaks.push(
          this.direction === 'request'
            ? { rule: 'request-field-required', at: `.${name}`, message: 'is required now' }
            : { rule: 'answer-field-optional', at: `.${name}`, message: 'was always there, now it may be missing' },
        );
    for (const [name, schema] of Object.entries(mine)) {
      if (name in theirs) breaks.push(...this.parts(schema, theirs[name], inner, outer, `.${name}`));
      else if (this.direction === 'request' && other.additionalProperties === false)
        breaks.push({ rule: 'request-field-removed', at: `.${name}`, message: 'is not taken any more' });
    }
    if (this.direction === 'answer')
      for (const name of Object.keys(theirs))
        if (!(name in mine))
          breaks.push({ rule: 'answer-field-removed', at: `.${name}`, message: 'is not answered any more' });
    return [...breaks, ...this.others(one, other, inner, outer)];
  }

  /** Values of maps, and unnamed fields. */
  private others(one: Alternative, other: Alternative, inner: Side, outer: Side): Break[] {
    const [mine, theirs] = [one.additionalProperties ?? true, other.additionalProperties ?? true];
    if (isObject(mine) && isObject(theirs)) return this.parts(mine, theirs, inner, outer, '.*');
    if (this.direction === 'request' && mine !== false && theirs === false)
      return [{ rule: 'request-narrowed', at: '', message: 'fields of any name were taken' }];
    if (
      this.direction === 'request' &&
      mine === true &&
      isObject(theirs) &&
      alternatives(theirs, outer.resolve)[0]?.type !== 'any'
    )
      return [{ rule: 'request-narrowed', at: '.*', message: 'fields of any value were taken' }];
    return [];
  }

  private parts(mine: unknown, theirs: unknown, inner: Side, outer: Side, at: string): Break[] {
    const [one, other] = [
      { ...inner, schema: mine },
      { ...outer, schema: theirs },
    ];
    return this.direction === 'request' ? this.compare(one, other, at) : this.compare(other, one, at);
  }
}

const placed = (one: Break, at: string): Break => ({ ...one, at: `${at}${one.at}` });
const propertiesOf = ({ properties }: Json): Json => (isObject(properties) ? properties : {});

/** Whether values of one kind are also of the other: an integer is a number. */
const isKind = (inner: string, outer: string, direction: Direction): boolean =>
  outer === 'any' ||
  inner === outer ||
  (inner === 'integer' && outer === 'number') ||
  (inner === 'any' && direction === 'answer');

/** A changed format changes the meaning of an answer's text. */
function changedFormat(one: Alternative, other: Alternative): Break[] {
  return other.format !== undefined && other.format !== one.format && !Array.isArray(one.enum)
    ? [{ rule: 'answer-type-changed', at: '', message: `format ${String(other.format)} is ${String(one.format)} now` }]
    : [];
}

/** Bounds: 1 is narrower the higher it is, -1 the lower; the last is the default. */
const BOUNDS = [
  ['minLength', 1, 0],
  ['minItems', 1, 0],
  ['minProperties', 1, 0],
  ['minimum', 1, -Infinity],
  ['exclusiveMinimum', 1, -Infinity],
  ['maxLength', -1, -Infinity],
  ['maxItems', -1, -Infinity],
  ['maxProperties', -1, -Infinity],
  ['maximum', -1, -Infinity],
  ['exclusiveMaximum', -1, -Infinity],
] as const;

/** A bound as it was; an exclusive one excludes everything that the plain one does, but not vice versa. */
function boundOf(one: Alternative, rule: string): number | undefined {
  const [own, stricter] = [one[rule], one[rule.replace(/^m/, 'exclusiveM')]];
  return typeof own === 'number' ? own : typeof stricter === 'number' ? stricter : undefined;
}
const EXACT = ['format', 'pattern', 'multipleOf', 'uniqueItems', 'propertyNames'];

function narrowedRules(one: Alternative, other: Alternative): Break[] {
  const narrowed = (message: string): Break => ({ rule: 'request-narrowed', at: '', message });
  const values = one.enum as unknown[] | undefined;
  if (Array.isArray(other.enum)) {
    const gone = values?.filter((value) => !(other.enum as unknown[]).includes(value));
    if (!gone) return [narrowed(`is one of ${JSON.stringify(other.enum)} now, was any ${one.type}`)];
    return gone.length > 0 ? [narrowed(`${JSON.stringify(gone)} is not taken any more`)] : [];
  }
  // All enum values are known: further bounds mean nothing.
  if (values) return [];
  const breaks: Break[] = [];
  for (const [rule, direction, floor] of BOUNDS) {
    const is = other[rule];
    if (typeof is !== 'number') continue;
    const was = boundOf(one, rule);
    if (was === undefined ? is * direction > floor : is * direction > was * direction)
      breaks.push(narrowed(`${rule} is ${is} now, was ${was ?? 'not there'}`));
  }
  for (const rule of EXACT)
    if (other[rule] !== undefined && other[rule] !== false && JSON.stringify(other[rule]) !== JSON.stringify(one[rule]))
      breaks.push(
        narrowed(`${rule} is ${JSON.stringify(other[rule])} now, was ${JSON.stringify(one[rule]) ?? 'not there'}`),
      );
  return breaks;
}
