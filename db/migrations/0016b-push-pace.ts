/** A minimum interval between pushes of a configuration: capture systems ban frequent callers permanently. */
export const name = '0016b-push-pace';
export const up = `
alter table datacapture_breakers add column next_slot_at timestamptz not null default clock_timestamp();
alter table result_pushes add column slot_at timestamptz;
`;
