/** Calendar feeds of a participant's visits, at a secret address that can be revoked. */
export const name = '0068-calendar-feeds';
export const up = `
-- The address bears the id and its signature: nothing that is stored here opens a feed.
create table calendar_feeds (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null references participants on delete cascade,
  -- of a caregiver: it ends with the care
  caregiver_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  created_by_id uuid references users on delete set null,
  foreign key (caregiver_id, participant_id) references caregiver_participants (caregiver_id, participant_id) on delete cascade
);
create unique index calendar_feeds_one on calendar_feeds (participant_id, coalesce(caregiver_id, participant_id));
create index calendar_feeds_study on calendar_feeds (study_id);
create index calendar_feeds_caregiver on calendar_feeds (caregiver_id, participant_id) where caregiver_id is not null;
select isolate_by_study('calendar_feeds');

create or replace function erase_portal_logins() returns trigger language plpgsql as $$
begin
  delete from portal_refresh_tokens where participant_id = new.id;
  delete from calendar_feeds where participant_id = new.id;
  return null;
end $$;
`;
