import { inspect } from 'node:util';
import { DefaultLogger } from '@temporalio/worker';
import { serializeError } from '../../db/client/process/serialize-error.js';

/**
 * The logger of Temporal's library, which logs failed activities and workflows: errors are written as everywhere else.
 * The library writes all their fields and causes, and those of a database error quote row values.
 */
export const sdkLogger = (): DefaultLogger =>
  new DefaultLogger('INFO', ({ level, message, meta, timestampNanos }) => {
    const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    const fields = Object.entries(meta ?? {}).map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Error ? serializeError(value) : value,
    ]);
    const rest = fields.length === 0 ? '' : ` ${inspect(Object.fromEntries(fields))}`;
    process.stderr.write(`${time} [${level}] ${message}${rest}\n`);
  });
