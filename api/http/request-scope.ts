import type { AuditTrail } from '../../db/audit/audit.js';
import type { Tx } from '../../db/client/database.js';
import type { Actor } from './access.js';
import type { RequestContext } from './request-context.js';

/** What a service needs of a request that changes something: its transaction and audit, and who asks. */
export interface RequestScope<A = Actor> {
  tx: Tx;
  audit: AuditTrail;
  actor: A;
  context: RequestContext;
}
