/** Checkpoints: signed statements of the length and head of a chain, each linked to the one before. */
export const name = '0022-audit';
export const up = `
-- No release wrote a checkpoint before this one.
drop index audit_checkpoints_chain;
alter table audit_checkpoints
  add column root char(64) not null,
  add column previous char(64),
  add column previous_rows bigint not null,
  add column witness bytea not null,
  add column peaks text not null,
  add column key_id varchar(32) not null,
  add constraint audit_checkpoints_chain_seq_key unique (chain, seq),
  add check (seq > previous_rows and octet_length(witness) = 8 * (seq - previous_rows));
create index audit_checkpoints_listing on audit_checkpoints (created_at, id);
-- The signer reads the records since the last checkpoint, whatever study they are of, and proofs read hashes alone.
create index audit_log_user on audit_log (user_id, created_at) where user_id is not null;
create index audit_log_time on audit_log (created_at, chain, seq);
`;
