/** The driver's error. The model library wraps it in one of its own, which has no code. */
export function driverFault(fault: unknown): unknown {
  const wrapped = typeof fault === 'object' && fault !== null && 'nativeError' in fault ? fault.nativeError : undefined;
  return typeof wrapped === 'object' && wrapped !== null ? wrapped : fault;
}

/** The code of an error: SQLSTATE of a statement, or a word of Node.js for a connection. */
export function faultCode(fault: unknown): string | undefined {
  const own = driverFault(fault);
  const code = typeof own === 'object' && own !== null && 'code' in own ? own.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The constraint or unique index that a statement violates; undefined: it failed for another reason. */
export function violatedConstraint(fault: unknown): string | undefined {
  const own = driverFault(fault);
  const constraint = typeof own === 'object' && own !== null && 'constraint' in own ? own.constraint : undefined;
  return typeof constraint === 'string' ? constraint : undefined;
}

/** Errors without a code by which pool and driver report an unavailable database. */
export const CONNECTION_ERROR =
  /^timeout expired$|timeout acquiring a connection|connection terminated|connection timeout|timeout exceeded when trying to connect|unable to acquire a connection|not queryable/i;

/** Why a program cannot begin with its database, in a sentence for the operator. */
export function databaseSentence(fault: Error): string {
  const code = faultCode(fault);
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'ETIMEDOUT')
    return `The database named by DATABASE_URL is not reached (${code}).`;
  if (code === '28P01' || code === '28000')
    return 'The database refuses the login: check DATABASE_URL and DATABASE_APP_PASSWORD.';
  return fault.message;
}
