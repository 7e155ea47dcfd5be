/**
 * The content of an electronic signature: its meaning, the signer's printed name, the time, and how identity was
 * proved.
 */
export const name = '0078-signatures';
export const up = `
-- {meaning, name, signed_at, proved_by (password, totp, session, claimed)}; who it is stands in signed_by_id, decided_by_id
alter table form_instances add column signature jsonb;
alter table override_requests
  add column signature jsonb,
  -- by user: what an approver has signed, until the decision is carried out
  add column offered_signatures jsonb not null default '{}';
`;
