/** The size of a study in one query, for callers who see all of it. */
export const name = '0045-study-size';
export const up = `
-- Whether a row is of a study in sight is asked of each row, a quarter of the time of counting two hundred thousand. Of a
-- whole study it is decided once here, as the policies of the tables would: who does not see it, or is narrowed to sites of
-- any study, gets no row and counts row by row. A row and not a value: a value would be computed without a helper.
create function study_size(p_study uuid) returns table (participants bigint, sessions bigint, visits bigint)
language sql stable rows 1 security definer set search_path = public, pg_temp as $$
  select (select count(*) from participants where study_id = p_study), (select count(*) from assessment_sessions where study_id = p_study),
    (select count(*) from scheduled_visits where study_id = p_study)
  where (app_sees_all() or p_study = app_study() or p_study = any (app_studies())) and app_all_sites()
$$;
revoke all on function study_size(uuid) from public;
grant execute on function study_size(uuid) to research_app;
`;
