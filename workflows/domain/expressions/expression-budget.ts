import type { ASTNode } from '@marcbachmann/cel-js';
import { serialize } from '@marcbachmann/cel-js';

/** The most steps of one evaluation: a node that is evaluated, or an element that is visited. */
export const MAX_STEPS = 100_000;
/** Text is processed faster than elements. */
const CHARACTERS_PER_STEP = 100;

/** The function that `countedText` wraps around operands. */
export const COUNTED = 'counted';
export const MACROS = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

let spent = 0;

/** Starts a synchronous evaluation from zero. */
export const startCounting = (): void => {
  spent = 0;
};
export const isOverBudget = (): boolean => spent > MAX_STEPS;

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
