/** The participants' portal: one-time links, and the callers of portal tokens. */
export const name = '0014-portal';
export const up = `
-- One link of a notification that was written; of its token there is the keyed hash alone.
create table portal_links (
  notification_id uuid primary key references notifications on delete cascade,
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null references participants on delete cascade,
  token_hash bytea not null unique,
  made_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz,
  check (octet_length(token_hash) = 32)
);
create index portal_links_participant on portal_links (participant_id);
select isolate_by_study('portal_links');

-- Loads the participant of a portal token as the database knows it now and narrows the transaction to its study; one
-- that has withdrawn sees nothing. No row: there is no such participant (any more).
create function request_participant(p_participant uuid)
returns table (id uuid, study_id uuid, site_id uuid, participant_code varchar, preferred_language varchar, status varchar)
language plpgsql volatile as $$
declare p record;
begin
  perform set_config('app.studies', '*', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select x.id, x.study_id, x.site_id, x.participant_code, x.preferred_language, x.status into p from participants x where x.id = p_participant;
  perform set_config('app.studies', case when p.status = 'enrolled' then p.study_id::text else '' end, true);
  if p.id is null then return; end if;
  return query select p.id, p.study_id, p.site_id, p.participant_code, p.preferred_language, p.status;
end $$;
`;
