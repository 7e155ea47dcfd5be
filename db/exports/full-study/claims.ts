import { createHash, createPublicKey, verify } from 'node:crypto';
import type { AuditSigner } from '../../audit/audit-signing.js';
import { canonicalJson } from '../../audit/canonical-json.js';

type Row = Record<string, unknown>;

/**
 * Columns that name the person who did something. An import claims it, unverified by this service. Some name nobody.
 */
export const PERSON_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  form_instances: ['signed_by_id'],
  eligibility_assessments: ['confirmed_by_id', 'waiver_requested_by_id', 'waiver_approved_by_id'],
  anchor_date_history: ['actor_user_id'],
  override_requests: ['requested_by_id', 'decided_by_id'],
  consents: [],
  randomizations: [],
  manual_anchor_entries: [],
  schedule_versions: ['generated_by_id'],
  scheduled_visits: ['reviewed_by_id'],
  sync_conflicts: ['resolved_by_id'],
  assessment_sessions: ['started_by_id'],
  enrollment_policies: ['author_id'],
  battery_versions: ['published_by_id'],
};
/** Columns of rows that are not displayed with their persons. */
const UNNAMED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  anchor_dates: ['finalized_by_id', 'override_actor_id', 'override_approved_by_id'],
  anchor_decisions: ['approver_user_id'],
  participants: ['erased_by_id'],
  caregiver_participants: ['created_by'],
};
/** Columns of the same kind that are kept: they state the origin of a date, which must stay the same. */
const KEPT_COLUMNS: Readonly<Record<string, readonly string[]>> = { manual_anchor_entries: ['entered_by_user_id'] };
/** Columns that a load fills in itself. */
export const CLAIM_COLUMNS = ['imported', 'imported_by', 'original_users', 'signature_verified'];

/** Columns that a load sets, by table. */
export const SETTLED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    Object.entries(PERSON_COLUMNS).map(([table, columns]) => [table, [...columns, ...CLAIM_COLUMNS]]),
  ),
  ...UNNAMED_COLUMNS,
  anchor_dates: [...UNNAMED_COLUMNS['anchor_dates']!, 'imported'],
};

export interface ImportClaim {
  userId: string;
  /** The document has this service's own signature. */
  verified: boolean;
}

/** A row as an import may bring it: its person columns are null, and the document's persons are stored as text. */
export function asClaimed(table: string, row: Row, { userId, verified }: ImportClaim): Row {
  if (table === 'domain_events') return { ...row, data: claimedEvent(row.data as Row, userId) };
  const unnamed = (UNNAMED_COLUMNS[table] ?? []).map((column) => [column, null]);
  const columns = PERSON_COLUMNS[table];
  if (!columns) return { ...row, ...Object.fromEntries(unnamed), ...(table === 'anchor_dates' && { imported: true }) };
  const named = Object.fromEntries(
    [...columns, ...(KEPT_COLUMNS[table] ?? [])].flatMap((column) =>
      typeof row[column] === 'string' ? [[column, row[column]]] : [],
    ),
  );
  const before = typeof row.original_users === 'object' ? row.original_users : null;
  const users = { ...before, ...named };
  return {
    ...row,
    ...Object.fromEntries(columns.map((column) => [column, null])),
    imported: true,
    imported_by: userId,
    original_users: Object.keys(users).length > 0 ? users : null,
    ...claimedSignature(table, row, verified),
  };
}

/**
 * How a signer proved identity counts only if this service recorded it: not from a document that it did not sign, and
 * not from rows that it had imported before.
 */
function claimedSignature(table: string, row: Row, verified: boolean): Row {
  const proved = verified && (row.imported !== true || row.signature_verified === true);
  const signature = row.signature as Row | null | undefined;
  return {
    ...(signature &&
      typeof signature === 'object' &&
      !verified && { signature: { ...signature, proved_by: 'claimed' } }),
    ...(table === 'form_instances' && { signature_verified: row.signed_at == null ? null : proved }),
  };
}

/** A signature without its proof of identity, which a load sets. */
export function signatureContent(signature: unknown): unknown {
  if (typeof signature !== 'object' || signature === null) return signature;
  return Object.fromEntries(Object.entries(signature).filter(([key]) => key !== 'proved_by'));
}

/** An event's data; its persons are stored as text beside it. */
function claimedEvent(data: Row, userId: string): Row {
  const { original_users: before, ...said } = data;
  const { without, users } = nameless(said);
  const named = { ...(before as Row | null), ...users };
  return {
    ...(without as Row),
    imported: true,
    imported_by: userId,
    original_users: Object.keys(named).length > 0 ? named : null,
  };
}

/** An event's data without import claims and persons. */
export function eventContent(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return data;
  return nameless(Object.fromEntries(Object.entries(data).filter(([key]) => !CLAIM_COLUMNS.includes(key)))).without;
}

/** Keys of an event's data whose value is a user's id. */
const PERSON_KEY = /^(approver|(.*_)?user_id|.*_by_id)$/;

/** A value without user ids; `users`: the removed ids, by path. The origin of a date stays. */
function nameless(value: unknown, path = ''): { without: unknown; users: Record<string, string> } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { without: value, users: {} };
  const without: Row = {};
  const users: Record<string, string> = {};
  for (const [key, item] of Object.entries(value)) {
    if (PERSON_KEY.test(key)) {
      without[key] = null;
      if (typeof item === 'string') users[`${path}${key}`] = item;
    } else if (key === 'source_ref') {
      without[key] = item;
    } else {
      const inner = nameless(item, `${path}${key}.`);
      without[key] = inner.without;
      Object.assign(users, inner.users);
    }
  }
  return { without, users };
}

/** Stands at the end of a document and certifies that this service wrote all bytes before it. */
export interface Manifest {
  sha256: string;
  key_id: string;
  signature: string;
}
const BEGINNING = '\n,"manifest":';
const signedText = (sha256: string): string => canonicalJson({ format: 'research-assessment-study', sha256 });

/** The manifest of a document and the document's end. */
export function manifestText(sha256: string, signer: AuditSigner): string {
  const manifest: Manifest = { sha256, key_id: signer.keyId, signature: signer.sign(signedText(sha256)) };
  return `${BEGINNING}${JSON.stringify(manifest)}}\n`;
}

/** Whether a document is, byte for byte, one that this service signed. */
export function isOwnDocument(
  bytes: Buffer,
  manifest: Manifest | undefined,
  signer: Pick<AuditSigner, 'keyId' | 'publicKey'> | undefined,
): boolean {
  const end = bytes.lastIndexOf(BEGINNING);
  if (!manifest || !signer || end < 0 || manifest.key_id !== signer.keyId) return false;
  const sha256 = createHash('sha256').update(bytes.subarray(0, end)).digest('hex');
  return (
    sha256 === manifest.sha256 &&
    verify(
      null,
      Buffer.from(signedText(sha256)),
      createPublicKey(signer.publicKey),
      Buffer.from(manifest.signature, 'base64'),
    )
  );
}
