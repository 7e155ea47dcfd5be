/** The facts of a request that are recorded with a change. */
export interface RequestContext {
  requestId: string;
  correlationId: string;
  ip: string;
  userAgent: string | undefined;
  /** When the request began, in milliseconds since 1970 by the database's clock. */
  receivedMs: number;
}

/** A user's token: its permissions, its id, and its login. */
export interface Credential {
  audience: 'api' | 'mfa';
  jti: string;
  sid: string | undefined;
}
