import { createHash, createPublicKey, verify } from 'node:crypto';
import type { AuditSigner } from '../../audit/audit-signing.js';
import { canonicalJson } from '../../audit/canonical-json.js';

type Row = Record<string, unknown>;

/** Columns that say which person did something. An import claims it, and nobody here saw it. Some name nobody. */
export const PERSON_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  form_instances: ['signed_by_id'],
  eligibility_assessments: ['confirmed_by_id', 'waiver_requested_by_id', 'waiver_approved_by_id'],
  anchor_date_history: ['actor_user_id'],
  override_requests: ['requested_by_id', 'decided_by_id'],
  consents: [],
  randomizations: [],
  manual_anchor_entries: [],
};
/** Columns of the same kind that stay as they are: where a date comes from is told by them, and it is to be the same. */
const KEPT_COLUMNS: Readonly<Record<string, readonly string[]>> = { manual_anchor_entries: ['entered_by_user_id'] };
/** Columns that a load fills in itself. */
export const CLAIM_COLUMNS = ['imported', 'imported_by', 'original_users', 'signature_verified'];

export interface Importing {
  userId: string;
  /** The document bears this service's own signature. */
  verified: boolean;
}

/** A row as an import may bring it: nobody is named as who did it, and whom the document names is text. */
export function asClaimed(table: string, row: Row, { userId, verified }: Importing): Row {
  const columns = PERSON_COLUMNS[table];
  if (!columns) return row;
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
    ...(table === 'form_instances' && { signature_verified: row.signed_at == null ? null : verified }),
  };
}

/** Stands at a document's end and says of all bytes before it that this service wrote them. */
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
export function isOwnDocument(bytes: Buffer, manifest: Manifest | undefined, signer: AuditSigner | undefined): boolean {
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
