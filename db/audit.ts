import pg from 'pg';
import { canonicalJson } from './canonical-json.js';

/** One thing that was done. `study_id` null: the service's own chain (logins, users, settings). Never personal data in `metadata`. */
export interface AuditEntry {
  study_id: string | null;
  user_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string | null;
  metadata?: Record<string, unknown>;
  request_id?: string | null;
}

/** Collects a transaction's audit records. They are sealed together with the commit (opening.ts), so that a chain is locked no longer than that. */
export class AuditTrail {
  private entries: AuditEntry[] = [];

  record(entry: AuditEntry): void {
    this.entries.push(entry);
  }

  /**
   * Statements that append what was collected to the chains, to be run as the transaction's last; chains in a fixed
   * order, so that two transactions never wait in a circle. Undefined: nothing was recorded.
   */
  seal(): string | undefined {
    const chains = new Map<string, AuditEntry[]>();
    for (const entry of this.entries) {
      const chain = entry.study_id ?? '';
      // Pushed, not copied: an import has tens of thousands.
      const entries = chains.get(chain);
      if (entries) entries.push(entry);
      else chains.set(chain, [entry]);
    }
    this.entries = [];
    if (chains.size === 0) return undefined;
    return [...chains.keys()].sort().map((chain) => {
      const rows = chains.get(chain)!.map((entry) => ({
        user_id: entry.user_id,
        action: entry.action,
        resource_type: entry.resource_type,
        resource_id: entry.resource_id,
        metadata: canonicalJson(entry.metadata ?? {}),
        request_id: entry.request_id ?? null,
      }));
      return `select audit_append(${chain === '' ? 'null' : pg.escapeLiteral(chain)}, ${pg.escapeLiteral(JSON.stringify(rows))}::jsonb)`;
    }).join('; ');
  }
}
