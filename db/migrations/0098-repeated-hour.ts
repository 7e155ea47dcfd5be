/**
 * A reminder whose local time comes twice, when clocks go back, is due the first time, as in calendars (RFC 5545).
 * PostgreSQL takes the second.
 */
export const name = '0098-repeated-hour';
export const up = `
-- A local time as an instant: of one that comes twice the first counts; one that a clock change skips is taken as if the
-- clock had not changed yet (02:30 becomes 03:30). A clock is never moved by more than three hours.
create function local_instant(p_local timestamp, p_zone text) returns timestamptz language sql immutable as $$
  select case when t.first < t.at and t.first at time zone p_zone = p_local then t.first else t.at end
  from (select x.at, (p_local - ((x.at - interval '3 hours') at time zone p_zone - (x.at - interval '3 hours') at time zone 'UTC')) at time zone 'UTC' as first
        from (select p_local at time zone p_zone as at) x) t
$$;

-- The rule of workflows/domain/notifications/planning.ts for sets (a property test compares the two).
create or replace function reminder_due(p_day date, p_send time, p_from time, p_to time, p_zone text) returns timestamptz language sql immutable as $$
  select local_instant(case
    when p_from is null or p_to is null or p_from = p_to then p_day + p_send
    when p_from < p_to then p_day + case when p_send >= p_from and p_send < p_to then p_to else p_send end
    when p_send >= p_from then p_day + 1 + p_to
    when p_send < p_to then p_day + p_to
    else p_day + p_send end, p_zone)
$$;
`;
