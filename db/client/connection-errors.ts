/**
 * What the pool and the driver say of a database that is not there at the moment: errors without a code of their own.
 */
export const CONNECTION_ERROR =
  /^timeout expired$|timeout acquiring a connection|connection terminated|connection timeout|timeout exceeded when trying to connect|unable to acquire a connection|not queryable/i;
