import type { ASTNode } from '@marcbachmann/cel-js';
import { serialize } from '@marcbachmann/cel-js';

/** The most steps of all expressions of a decision: a node that is evaluated, or an element that is visited. */
export const MAX_STEPS = 100_000;
/** Text is processed faster than elements. */
const CHARACTERS_PER_STEP = 25;
/** A run-time error takes as long as so many steps; a loop and a logical operator catch it and go on. */
const ERROR_STEPS = 40;
/** The same for functions; a time zone is looked up for each of its methods. */
const CALL_STEPS: Readonly<Record<string, number>> = {
  string: 40,
  duration: 20,
  timestamp: 20,
  dateOf: 20,
  dayOfWeek: 5,
  year: 5,
  month: 5,
  day: 5,
};
const OTHER_CALL_STEPS = 3,
  ZONED_CALL_STEPS = 300;
const ZONED_CALL = /^get[A-Z]/;
/** In the longest text that a form has, a search may compare all of it for each character that it seeks. */
const SEARCHES = new Set(['contains', 'indexOf', 'lastIndexOf', 'split']);
const STEPS_PER_SOUGHT_CHARACTER = 10;

/** The functions that `countedText` adds to an expression. */
export const COUNTED = 'counted';
export const CHARGED = 'charged';
export const BEGIN = 'begin';
export const DONE = 'done';
export const JOINED = 'joined';
export const SOUGHT = 'sought';
export const MACROS = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

/** The steps that the expressions of one decision have taken: they share the budget. */
export class StepBudget {
  spent = 0;
}

let spent = 0,
  stopped = false;

/** Starts a synchronous evaluation after those of the same budget. */
export const startCounting = (budget: StepBudget): void => {
  spent = budget.spent;
  stopped = false;
};
export const stopCounting = (budget: StepBudget): void => {
  budget.spent = Math.max(spent, stopped ? MAX_STEPS + 1 : 0);
};
export const isOverBudget = (): boolean => stopped || spent > MAX_STEPS;

/** Charges for a call, beside the value that it is about to read. */
export function withCallSteps(steps: bigint, value: unknown): unknown {
  spent += Number(steps);
  return withStepCount(value);
}

/** Joins texts, whose length is charged for before: it is that of the separator as often as there are texts. */
export function withJoinedLength(texts: unknown, separator: unknown): string {
  if (!Array.isArray(texts) || typeof separator !== 'string' || texts.some((text) => typeof text !== 'string'))
    throw new TypeError('join is for a list of texts');
  const length = (texts as string[]).reduce((sum, text) => sum + text.length + separator.length, 0);
  spent += Math.floor(length / CHARACTERS_PER_STEP);
  return spent > MAX_STEPS ? '' : texts.join(separator);
}

/** Charges for a text that is sought in another. */
export function withSearchSteps(text: unknown): unknown {
  if (typeof text === 'string') spent += text.length * STEPS_PER_SOUGHT_CHARACTER;
  return withStepCount(text);
}

/** Charges for an error, in advance. False over budget: then nothing more is tried. */
export function beginTry(): boolean {
  spent += ERROR_STEPS;
  if (spent > MAX_STEPS) stopped = true;
  return !stopped;
}
/** There was none. */
export function endTry(value: unknown): unknown {
  spent -= ERROR_STEPS;
  return value;
}

/**
 * Charges for a value that an operator, a method or a loop is about to read. Over budget it returns an empty value: a
 * loop catches errors of its body and continues, but ends over an empty value.
 */
export function withStepCount(value: unknown): unknown {
  spent += sizeOf(value, MAX_STEPS);
  return spent > MAX_STEPS ? emptied(value) : value;
}

/** The size of a value in steps, counted up to `most`. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return 1 + Math.floor(value.length / CHARACTERS_PER_STEP);
  if (typeof value !== 'object' || value === null) return 1;
  if (value instanceof Uint8Array) return 1 + Math.floor(value.length / CHARACTERS_PER_STEP);
  let size = 1;
  for (const item of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) {
    if ((size += sizeOf(item, most - size)) > most) break;
  }
  return size;
}

function emptied(value: unknown): unknown {
  if (typeof value === 'string') return '';
  if (Array.isArray(value)) return [];
  if (value instanceof Uint8Array) return new Uint8Array();
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype ? {} : value;
}

/**
 * The expression with `counted(…)` around every operand. Null if the number of nodes already limits its cost: it has
 * neither loops nor methods, and reads no form.
 */
export const countedText = (ast: ASTNode): string | null => (isBounded(ast) ? null : textOf(ast));

function isBounded(node: unknown): boolean {
  if (Array.isArray(node)) return node.every(isBounded);
  if (typeof node !== 'object' || node === null || !('op' in node)) return true;
  const { op, args } = node as ASTNode;
  return op !== 'rcall' && !(op === 'id' && args === 'forms') && isBounded(args);
}

/** The end of a loop that is over budget. */
const WHEN_OVER: Readonly<Record<string, string>> = { exists: 'true', map: `${COUNTED}(0)` };

/** A part whose error is caught where it is used; `otherwise` is its value over budget. */
const tried = (node: ASTNode, otherwise: string): string =>
  node.op === 'value' ? textOf(node) : `(${BEGIN}() ? ${DONE}(${textOf(node)}) : ${otherwise})`;

const operand = (node: ASTNode): string => (node.op === 'value' ? textOf(node) : `${COUNTED}(${textOf(node)})`);
const listOf = (nodes: readonly ASTNode[], write: (node: ASTNode) => string): string => nodes.map(write).join(', ');
/** The first operand of a call. */
const charged = (node: ASTNode, steps: number): string => `${CHARGED}(${steps}, ${textOf(node)})`;

function textOf(node: ASTNode): string {
  switch (node.op) {
    case 'value':
    case 'id':
      return serialize(node);
    case '.':
      return `(${textOf(node.args[0])}).${node.args[1]}`;
    case '[]':
      return `(${textOf(node.args[0])})[${textOf(node.args[1])}]`;
    case 'call': {
      const [name, args] = node.args;
      const [first, ...rest] = args;
      // Its argument is a path, not a value.
      if (name === 'has' || !first) return serialize(node);
      return `${name}(${[charged(first, CALL_STEPS[name] ?? OTHER_CALL_STEPS), ...rest.map(operand)].join(', ')})`;
    }
    case 'rcall': {
      const [name, receiver, args] = node.args;
      if (!MACROS.has(name)) {
        if (name === 'join') return `${JOINED}(${operand(receiver)}, ${args[0] ? operand(args[0]) : '""'})`;
        const steps = ZONED_CALL.test(name) && args.length > 0 ? ZONED_CALL_STEPS : OTHER_CALL_STEPS;
        const [first, ...rest] = args.map(operand);
        const given = args[0] && SEARCHES.has(name) ? [`${SOUGHT}(${textOf(args[0])})`, ...rest] : [first, ...rest];
        return `${charged(receiver, steps)}.${name}(${given.join(', ')})`;
      }
      const bodies = args.slice(1).map((body) => tried(body, WHEN_OVER[name] ?? 'false'));
      return `${operand(receiver)}.${name}(${[textOf(args[0]!), ...bodies].join(', ')})`;
    }
    case 'list':
      return `[${listOf(node.args, textOf)}]`;
    case 'map':
      return `{${node.args.map(([key, value]) => `${textOf(key)}: ${textOf(value)}`).join(', ')}}`;
    case '?:':
      return `(${textOf(node.args[0])} ? ${textOf(node.args[1])} : ${textOf(node.args[2])})`;
    case '||':
    case '&&':
      return `(${tried(node.args[0], 'false')} ${node.op} ${tried(node.args[1], 'false')})`;
    case '!_':
    case '-_':
      return `${node.op[0]}(${textOf(node.args)})`;
    case '.?':
    case '[?]':
      return serialize(node);
    default:
      return `(${operand(node.args[0])} ${node.op} ${operand(node.args[1])})`;
  }
}
