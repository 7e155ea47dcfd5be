import { CONNECTION_ERROR, driverFault } from '../../db/client/connection/driver-faults.js';
import { Problem, problem } from './errors.js';
import type { ErrorCode } from './errors.js';

/** Errors of socket and pool for an unavailable database. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);

interface Thrown {
  status?: unknown;
  code?: unknown;
  message?: unknown;
  constraint?: unknown;
  errors?: unknown;
}

/** Converts any thrown value into the problem that the client may see. An unknown error is a 500 without details. */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = native(thrown);
  const database = databaseProblem(error, thrown);
  if (database) return database;
  // Body parsers set `status`.
  const status = Number(error.status ?? 500);
  const code = byStatus[status];
  return code ? problem(code, { cause: thrown }) : problem('INTERNAL', { cause: thrown });
}

function native(thrown: unknown): Thrown {
  const own = driverFault(thrown);
  return (typeof own === 'object' && own !== null ? own : {}) as Thrown;
}

const byStatus: Record<number, ErrorCode> = {
  400: 'BAD_REQUEST',
  404: 'NOT_FOUND',
  408: 'REQUEST_TIMEOUT',
  413: 'TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
};

function databaseProblem(error: Thrown, cause: unknown): Problem | undefined {
  const code = typeof error.code === 'string' ? error.code : '';
  const message = typeof error.message === 'string' ? error.message : '';
  // A host name with several addresses: an AggregateError with each one's failure.
  const nested = Array.isArray(error.errors)
    ? (error.errors as Thrown[]).some((e) => UNREACHABLE.has(String(e.code)))
    : false;
  if (UNREACHABLE.has(code) || nested || CONNECTION_ERROR.test(message))
    return problem('DATABASE_UNAVAILABLE', { cause });
  if (!/^[0-9A-Z]{5}$/.test(code)) return undefined;
  // Class 08 connection, 57P0x shutdown or startup, 53 out of connections or memory, 25P03 idle for too long.
  if (code.startsWith('08') || code.startsWith('57P') || code.startsWith('53') || code === '25P03')
    return problem('DATABASE_UNAVAILABLE', { cause });
  if (code === '55P03' || code === '57014' || code === '40001' || code === '40P01') {
    return problem('DATABASE_UNAVAILABLE', { detail: 'The database was too busy for this: try again.', cause });
  }
  // The role lacks the privilege, or row-level security refuses the row.
  if (code === '42501') return problem('FORBIDDEN', { cause });
  if (code.startsWith('22')) return problem('INVALID_VALUE', { cause });
  if (code === '23505' || code === '23503') return problem('CONFLICT', { cause });
  if (code.startsWith('23')) return problem('INVALID_VALUE', { cause });
  return undefined;
}

/** Runs a write and maps the violation of a named constraint to its problem; other errors pass unchanged. */
export async function mapConstraintErrors<T>(known: Record<string, ErrorCode>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const { constraint } = native(thrown);
    const code = typeof constraint === 'string' ? known[constraint] : undefined;
    throw code ? problem(code, { cause: thrown }) : thrown;
  }
}
