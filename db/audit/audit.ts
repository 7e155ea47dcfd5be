import pg from 'pg';
import { canonicalJson } from './canonical-json.js';

/**
 * An audit record to be written. `study_id` null: the service's own chain (logins, users, settings). Never personal
 * data in `metadata`.
 */
export interface AuditEntry {
  study_id: string | null;
  user_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string | null;
  metadata?: Record<string, unknown>;
  request_id?: string | null;
}

/** The fields that many records of one act share. */
export type SharedEntry = Omit<AuditEntry, 'resource_id' | 'metadata'>;
/** A record as SQL takes it: the fields beside its metadata, and the metadata in canonical form. */
export interface SealedEntry {
  study_id: string | null;
  row: string;
  metadata: string;
}
/** Records of one act on many resources, as SQL takes them: ids, distinct metadata, and which of these each has. */
interface Many extends SharedEntry {
  ids: string;
  metadata: string[];
  which: string;
}

/** Written into the statement unescaped: escaping goes letter by letter and takes twenty bytes of memory for each. */
const UUIDS = /^[0-9a-f,-]+$/;

/**
 * Collects a transaction's audit records. They are sealed together with the commit (opening.ts), so that a chain is
 * locked no longer than that.
 */
export class AuditTrail {
  private entries: (SealedEntry | Many)[] = [];
  private common: Record<string, unknown> = {};

  /** Adds these fields to the metadata of every record of this transaction, such as the person who is acted for. */
  inEach(metadata: Record<string, unknown>): void {
    this.common = { ...this.common, ...metadata };
  }

  record(entry: AuditEntry): void {
    this.add(this.written(entry));
  }

  /** Prepares a record to be added once it is certain: long ones are prepared while something else runs. */
  written({ study_id, user_id, action, resource_type, resource_id, metadata, request_id }: AuditEntry): SealedEntry {
    return {
      study_id,
      row: JSON.stringify({ user_id, action, resource_type, resource_id, request_id: request_id ?? null }),
      metadata: canonicalJson({ ...metadata, ...this.common }),
    };
  }

  add(entry: SealedEntry): void {
    this.entries.push(entry);
  }

  /**
   * Records the same act on many resources, whose ids are uuids. Each takes forty bytes of text: an import has a
   * hundred thousand.
   */
  recordEach(shared: SharedEntry, each: readonly { resource_id: string; metadata: Record<string, unknown> }[]): void {
    if (each.length === 0) return;
    const metadata = new Map<string, number>();
    const which = each.map((one) => {
      const text = canonicalJson({ ...one.metadata, ...this.common });
      const known = metadata.get(text) ?? metadata.size + 1;
      metadata.set(text, known);
      return known;
    });
    const ids = each.map(({ resource_id }) => resource_id).join(',');
    if (!UUIDS.test(ids)) throw new Error('an audit record of many is of something that has no uuid');
    this.entries.push({ ...shared, ids, metadata: [...metadata.keys()], which: which.join(',') });
  }

  /**
   * Statements that append the collected records to the chains, to be run last in the transaction. Chains come in a
   * fixed order, so that two transactions never deadlock. Undefined: nothing was recorded.
   */
  seal(): string | undefined {
    const chains = new Map<string, (SealedEntry | Many)[]>();
    for (const entry of this.entries) {
      const chain = entry.study_id ?? '';
      const entries = chains.get(chain);
      if (entries) entries.push(entry);
      else chains.set(chain, [entry]);
    }
    this.entries = [];
    if (chains.size === 0) return undefined;
    return [...chains.keys()]
      .sort()
      .flatMap((chain) =>
        groupsOf(chains.get(chain)!).map(
          (entries) =>
            `select audit_append(${chain === '' ? 'null' : pg.escapeLiteral(chain)},
              ${Array.isArray(entries) ? textsOf(entries) : manyOf(entries)})`,
        ),
      )
      .join('; ');
  }
}

/** Groups of entries in order: consecutive single records form one group. */
function groupsOf(entries: readonly (SealedEntry | Many)[]): (SealedEntry[] | Many)[] {
  const groups: (SealedEntry[] | Many)[] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if ('ids' in entry) groups.push(entry);
    else if (Array.isArray(last)) last.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

const textsOf = (entries: readonly SealedEntry[]): string =>
  `${literal(`[${entries.map(({ row }) => row).join(',')}]`)}::jsonb,
    array[${entries.map(({ metadata }) => literal(metadata)).join(', ')}]`;

/** Like the driver's escapeLiteral, which goes letter by letter: a record may name a thousand items. */
function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
  return quoted.includes('\\') ? ` E${quoted}` : quoted;
}

/** The same rows, expanded by the database: written out they would be ten times as long. */
function manyOf({ user_id, action, resource_type, request_id, ids, metadata, which }: Many): string {
  const text = (value: string | null | undefined) =>
    value == null ? 'null::text' : `${pg.escapeLiteral(value)}::text`;
  return `(select jsonb_agg(jsonb_build_object('user_id', ${text(user_id)}, 'action', ${text(action)}, 'resource_type',
    ${text(resource_type)}, 'resource_id', id,
    'metadata', (array[${metadata.map(text).join(', ')}])[which], 'request_id', ${text(request_id)}) order by n)
    from unnest('{${ids}}'::uuid[], '{${which}}'::integer[]) with ordinality as each(id, which, n))`;
}
