import { ApiError } from './formats.js';

/** What an expression reads: the value of a field, at another event where one is named. */
export type Lookup = (field: string, event: string | null) => string;
export type Predicate = (lookup: Lookup) => boolean;

const INVALID = 'The value of the parameter "filterLogic" is not valid';
const TOKEN =
  /\s*(?:(\()|(\))|(\[[^\]]+\](?:\[[^\]]+\])?)|'([^']*)'|"([^"]*)"|(-?\d+(?:\.\d+)?)|(<>|!=|<=|>=|=|<|>)|(and|or)\b)/iy;

type Token =
  | { kind: 'open' | 'close' }
  | { kind: 'field'; field: string; event: string | null }
  | { kind: 'value'; value: string }
  | { kind: 'compare' | 'join'; operator: string };

function tokens(logic: string, isField: (name: string) => boolean): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  const end = logic.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(logic);
    if (!match) throw new ApiError(400, INVALID);
    const [, open, close, reference, single, double, number, compare, join] = match;
    if (open) found.push({ kind: 'open' });
    else if (close) found.push({ kind: 'close' });
    else if (reference) {
      const parts = [...reference.matchAll(/\[([^\]]+)\]/g)].map((part) => part[1] ?? '');
      // A checkbox choice is written [field(code)] in logic and field___code in a column.
      const field = (parts.at(-1) ?? '').replace(/\(([^)]+)\)$/, '___$1');
      if (!isField(field)) throw new ApiError(400, INVALID);
      found.push({ kind: 'field', field, event: parts.length > 1 ? (parts[0] ?? '') : null });
    } else if (compare) found.push({ kind: 'compare', operator: compare });
    else if (join) found.push({ kind: 'join', operator: join.toLowerCase() });
    else found.push({ kind: 'value', value: single ?? double ?? number ?? '' });
  }
  return found;
}

function compareValues(a: string, operator: string, b: string): boolean {
  const numeric = a !== '' && b !== '' && Number.isFinite(Number(a)) && Number.isFinite(Number(b));
  const order = numeric ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0;
  switch (operator) {
    case '=':
      return order === 0;
    case '<':
      return a !== '' && order < 0;
    case '<=':
      return a !== '' && order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return a !== '' && order >= 0;
    default:
      return order !== 0;
  }
}

/**
 * Compiles `[field] = 'x' and ([event][field] > 3 or …)`; `and` binds closer than `or`.
 * @throws ApiError 400 for anything else.
 */
export function compileFilter(logic: string, isField: (name: string) => boolean): Predicate {
  const list = tokens(logic, isField);
  let at = 0;
  const operand = (): ((lookup: Lookup) => string) => {
    const token = list[at++];
    if (token?.kind === 'value') return () => token.value;
    if (token?.kind === 'field') return (lookup) => lookup(token.field, token.event);
    throw new ApiError(400, INVALID);
  };
  const comparison = (): Predicate => {
    if (list[at]?.kind === 'open') {
      at += 1;
      const inner = either();
      if (list[at++]?.kind !== 'close') throw new ApiError(400, INVALID);
      return inner;
    }
    const left = operand();
    const token = list[at++];
    if (token?.kind !== 'compare') throw new ApiError(400, INVALID);
    const right = operand();
    return (lookup) => compareValues(left(lookup), token.operator, right(lookup));
  };
  const joined = (operator: string, part: () => Predicate): Predicate => {
    const parts = [part()];
    for (let token = list[at]; token?.kind === 'join' && token.operator === operator; token = list[at]) {
      at += 1;
      parts.push(part());
    }
    return operator === 'and' ? (lookup) => parts.every((p) => p(lookup)) : (lookup) => parts.some((p) => p(lookup));
  };
  const both = (): Predicate => joined('and', comparison);
  const either = (): Predicate => joined('or', both);
  const result = either();
  if (at !== list.length) throw new ApiError(400, INVALID);
  return result;
}
