import { Model } from 'objection';

/** A signed statement of the length of a chain and of all its hashes. */
export class AuditCheckpoint extends Model {
  static override tableName = 'audit_checkpoints';
  declare id: string;
  declare chain: string;
  declare seq: number;
  declare head: string;
  declare root: string;
  declare created_at: string;
  declare key_id: string;
  declare public_key: string;
  declare signature: string;
}

/** The head of an audit chain. */
export class AuditChain extends Model {
  static override tableName = 'audit_chains';
  static override idColumn = 'chain';
  declare chain: string;
  declare study_id: string | null;
  declare seq: number;
  declare head: string;
}
