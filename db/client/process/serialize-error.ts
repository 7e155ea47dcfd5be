/**
 * An error for the log: class, code and stack, and the kind of its cause. Left out is what may name a person: message
 * and `detail` of a database error, which quote row values, and the message of a cause, which may be another system's.
 */
export function serializeError(thrown: unknown): Record<string, unknown> | undefined {
  if (thrown === undefined) return undefined;
  if (!(thrown instanceof Error)) return { message: String(thrown) };
  const { code, constraint, cause } = thrown as { code?: unknown; constraint?: unknown; cause?: unknown };
  const isDatabase = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
  return {
    type: thrown.name,
    code,
    constraint,
    ...(!isDatabase && { message: thrown.message }),
    ...(cause instanceof Error && { cause: (cause as { code?: unknown }).code ?? cause.name }),
    // A message may have lines of its own.
    stack: isDatabase ? thrown.stack?.split('\n').filter(isCall).join('\n') : thrown.stack,
  };
}
const isCall = (line: string): boolean => /^\s+at /.test(line);

/** For a logger: without it, an error is logged with all its fields and causes. */
export const logSerializers = {
  err: (thrown: unknown): unknown => (thrown instanceof Error ? serializeError(thrown) : thrown),
};
