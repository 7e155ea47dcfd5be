import {
  Instant,
  Json,
  Reason,
  Type,
  Uuid,
  nullable,
  oneOf,
  text,
  record,
  input,
  named,
  WorkStatus,
  about,
} from '../http/common.schemas.js';

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });
export const AuditRecord = record('AuditRecord', {
  id: Type.String({ description: 'chain/seq' }),
  seq: Type.Integer(),
  chain: Type.String({ description: 'the study’s id, or `service`' }),
  study_id: nullable(Uuid),
  user_id: nullable(Uuid),
  action: Type.String(),
  resource_type: Type.String(),
  resource_id: nullable(Type.String()),
  audit_metadata: Type.Object({}, { additionalProperties: true }),
  request_id: nullable(Type.String()),
  created_at: Instant,
  prev_hash: Hash,
  hash: Hash,
  hash_version: Type.Integer({ description: 'how the hash is computed' }),
});

export const NewAuditRecord = input('ComplianceAction', {
  action: text(100, 1),
  study_id: Type.Optional(Uuid),
  resource_type: text(60, 1),
  resource_id: text(200, 1),
  reason: Reason,
  metadata: Type.Optional(about(Json, 'what belongs to it, up to 10,000 characters of JSON')),
});

export const Verdict = record('AuditVerdict', {
  valid: Type.Boolean(),
  rows: Type.Integer(),
  head: nullable(Hash),
  checkpoints: Type.Integer({ description: 'whose signatures hold' }),
  chains: Type.Optional(Type.Integer()),
  first_bad_id: Type.Optional(Type.String({ description: 'chain/seq of the first record that does not hold' })),
  fault: Type.Optional(Type.String()),
});

export const Verification = named(
  'AuditVerification',
  Type.Object(
    {
      verification_id: Uuid,
      study_id: nullable(Uuid),
      status: WorkStatus,
      progress: Type.Object({
        rows_verified: Type.Integer(),
        rows_total: Type.Integer(),
        chains_verified: Type.Integer(),
        chains_total: Type.Integer(),
      }),
      result: nullable(Verdict),
      error: nullable(Type.String()),
      created_at: Instant,
      started_at: nullable(Instant),
      completed_at: nullable(Instant),
    },
    { additionalProperties: false },
  ),
);
export const VerificationAccepted = record('AuditVerificationAccepted', {
  verification_id: Uuid,
  status: oneOf('pending'),
  status_url: Type.String(),
});

const stated = {
  chain: Type.String(),
  rows: Type.Integer({ description: 'records covered, from the first on' }),
  head: Type.String({ description: 'hash of the last of them' }),
  root: Type.String({ description: 'of the Merkle tree over their hashes (RFC 6962)' }),
  created_at: Instant,
  previous: nullable(Type.String({ description: 'SHA-256 of what the checkpoint before it has signed' })),
  previous_rows: Type.Integer(),
  key_id: Type.String(),
  public_key: Type.String({ description: 'PEM; check with one that you had before' }),
  signature: Type.String({ description: 'Ed25519, base64' }),
};
export const Checkpoint = record('AuditCheckpoint', { id: Uuid, ...stated });
const WholeCheckpoint = record('AuditCheckpointWhole', {
  id: Uuid,
  ...stated,
  witness: Type.String({
    description: 'first eight bytes of each record’s hash since the previous checkpoint, base64',
  }),
});
export const NewCheckpoints = input('AuditCheckpointsCreate', { study_id: Type.Optional(Uuid) });

const path = Type.Array(Hash);
export const InclusionProof = record('AuditInclusionProof', {
  record: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'as it is hashed: prev_hash ‖ canonical JSON of the rest gives its hash',
    },
  ),
  inclusion: Type.Object({ leaf_index: Type.Integer(), tree_size: Type.Integer(), path }),
  checkpoint: WholeCheckpoint,
});
export const ConsistencyProof = record('AuditConsistencyProof', {
  consistency: Type.Object({ first_size: Type.Integer(), second_size: Type.Integer(), path }),
  from: WholeCheckpoint,
  checkpoint: WholeCheckpoint,
});
export const PublicKey = record('AuditPublicKey', {
  algorithm: Type.String(),
  key_id: Type.String(),
  public_key: Type.String({ description: 'PEM' }),
});
