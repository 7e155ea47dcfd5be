/** Errors without a code by which pool and driver report an unavailable database. */
export const CONNECTION_ERROR =
  /^timeout expired$|timeout acquiring a connection|connection terminated|connection timeout|timeout exceeded when trying to connect|unable to acquire a connection|not queryable/i;
