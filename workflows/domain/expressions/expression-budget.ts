import type { ASTNode } from '@marcbachmann/cel-js';
import { serialize } from '@marcbachmann/cel-js';

/** Steps that one evaluation of an expression may take: a node that is evaluated, or an element that is looked at. */
export const MAX_STEPS = 100_000;
/** Text is looked at faster than elements are. */
const CHARACTERS_PER_STEP = 100;

/** The function that `countedText` puts around operands. */
export const COUNTED = 'counted';
export const MACROS = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

let spent = 0;

/** Starts an evaluation, which is synchronous, from zero. */
export const startCounting = (): void => {
  spent = 0;
};
export const isOverBudget = (): boolean => spent > MAX_STEPS;

/**
 * Charges for a value that an operator, a method or a loop is about to look at. Over budget it is an empty one: a loop
 * catches what its body throws and goes on, but over nothing it ends.
 */
export function withStepCount(value: unknown): unknown {
  spent += sizeOf(value, MAX_STEPS);
  return spent > MAX_STEPS ? emptied(value) : value;
}

/** The size of a value in steps, counted no further than `most`. */
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
 * The same expression with `counted(…)` around every operand. Null where the number of nodes bounds its cost already:
 * it has neither loop nor method, and reads no form.
 */
export const countedText = (ast: ASTNode): string | null => (isBounded(ast) ? null : textOf(ast));

function isBounded(node: unknown): boolean {
  if (Array.isArray(node)) return node.every(isBounded);
  if (typeof node !== 'object' || node === null || !('op' in node)) return true;
  const { op, args } = node as ASTNode;
  return op !== 'rcall' && !(op === 'id' && args === 'forms') && isBounded(args);
}

const operand = (node: ASTNode): string => (node.op === 'value' ? textOf(node) : `${COUNTED}(${textOf(node)})`);
const listOf = (nodes: readonly ASTNode[], write: (node: ASTNode) => string): string => nodes.map(write).join(', ');

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
      // Its argument is a path, not a value.
      return name === 'has' ? serialize(node) : `${name}(${listOf(args, operand)})`;
    }
    case 'rcall': {
      const [name, receiver, args] = node.args;
      return `${operand(receiver)}.${name}(${listOf(args, MACROS.has(name) ? textOf : operand)})`;
    }
    case 'list':
      return `[${listOf(node.args, textOf)}]`;
    case 'map':
      return `{${node.args.map(([key, value]) => `${textOf(key)}: ${textOf(value)}`).join(', ')}}`;
    case '?:':
      return `(${textOf(node.args[0])} ? ${textOf(node.args[1])} : ${textOf(node.args[2])})`;
    case '||':
    case '&&':
      return `(${textOf(node.args[0])} ${node.op} ${textOf(node.args[1])})`;
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
