/**
 * The import of a full export includes the items that an erasure kept. All other data for an erased participant is
 * still dropped.
 */
export const name = '0057-loaded-erased-items';
export const up = `
create or replace function keep_erased_items() returns trigger language plpgsql as $$
begin
  if exists (select from participants p where p.id = new.participant_id and p.erased_at is not null) then
    new.items := case
      when tg_op = 'UPDATE' then old.items
      when current_setting('app.loading_study', true) = new.study_id::text then without_identity(new.items, '{}')
      else '{}'::jsonb end;
  end if;
  return new;
end $$;
`;
