/** Of a request, what is recorded beside a change. */
export interface RequestContext {
  requestId: string;
  correlationId: string;
  ip: string;
  userAgent: string | undefined;
  /** When the request began, in milliseconds since 1970 by the database's clock. */
  receivedMs: number;
}

/** The token that a user calls with: what it is good for, its id, and the login that it came from. */
export interface Credential {
  audience: 'api' | 'mfa';
  jti: string;
  sid: string | undefined;
}
