/** The time at which a consent was revoked; unknown for earlier revocations. */
export const name = '0027-consent-revocation';
export const up = `
alter table consents add column revoked_at timestamptz, add constraint consents_revoked_at_check check (revoked_at is null or status = 'revoked');
`;
