/** Erasure: identity fields of a participant are removed for good; decisions and the audit trail stay. */
export const name = '0024-erasure';
export const up = `
alter table participants
  add column erased_at timestamptz,
  add column erased_by_id uuid references users,
  add column erasure_reason text,
  add check (erased_at is null or (status = 'withdrawn' and email is null and phone is null and date_of_birth is null));

-- Whether an item of a form identifies a person: by the names that such items usually have, or because it is named.
create function is_identity(item text, named text[]) returns boolean language sql immutable as $$
  select lower(item) = any (named)
    or item ~* '(^name$|(^|[._-])(email|mail|phone|mobile|telephone|fax|(first|last|given|family|middle|maiden|full|sur)[._-]{0,1}name|address|street|zip|zipcode|postcode|postal[._-]code|dob|date[._-]of[._-]birth|birth[._-]{0,1}date|birthday|ssn|mrn|national[._-]id|passport)([._-]|$))'
$$;
create function without_identity(items jsonb, named text[]) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, value) filter (where not is_identity(key, named)), '{}') from jsonb_each(coalesce(items, '{}'))
$$;
-- The facts of a decision quote items of forms. There the item stays, with nothing in it: that the decision met one is part of why it was made.
create function facts_without_identity(facts jsonb, named text[]) returns jsonb language sql immutable as $$
  select case when jsonb_typeof(facts->'forms') = 'array' then jsonb_set(facts, '{forms}', (
      select coalesce(jsonb_agg(f || jsonb_build_object('items', (select coalesce(jsonb_object_agg(key, case when is_identity(key, named) then '"[erased]"' else value end), '{}') from jsonb_each(coalesce(f->'items', '{}')))) order by at), '[]')
      from jsonb_array_elements(facts->'forms') with ordinality as e (f, at)))
    else facts end
$$;

-- The capture system goes on sending what it knows: of an erased participant nothing of it is kept.
create function keep_erased() returns trigger language plpgsql as $$
begin
  new.email := null; new.phone := null; new.date_of_birth := null;
  new.participant_code := old.participant_code; new.status := old.status; new.erased_at := old.erased_at;
  return new;
end $$;
create trigger keep_erased before update on participants for each row when (old.erased_at is not null) execute function keep_erased();
create function keep_erased_items() returns trigger language plpgsql as $$
begin
  if exists (select from participants p where p.id = new.participant_id and p.erased_at is not null) then
    new.items := case when tg_op = 'UPDATE' then old.items else '{}'::jsonb end;
  end if;
  return new;
end $$;
create trigger keep_erased_items before insert or update of items on form_instances for each row execute function keep_erased_items();

-- Decisions quote the forms that they were made of. These records are only inserted, but for an erasure, which the
-- application can do through the function below alone: it has no right to update them.
drop trigger insert_only on anchor_decisions;
create trigger insert_only before update or delete on anchor_decisions for each row
  when (coalesce(current_setting('app.erasing', true), '') <> 'on') execute function refuse_change();
drop trigger insert_only on anchor_date_history;
create trigger insert_only before update or delete on anchor_date_history for each row
  when (coalesce(current_setting('app.erasing', true), '') <> 'on') execute function refuse_change();

-- Removes what identifies the participant, whom the caller must have seen and locked. Answers what was removed.
create function erase_participant(p_id uuid, p_by uuid, p_reason text, p_code text, p_items text[]) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare v jsonb := '{}'; n integer;
begin
  perform set_config('app.erasing', 'on', true);
  update form_instances set items = without_identity(items, p_items)
    where participant_id = p_id and items <> without_identity(items, p_items);
  get diagnostics n = row_count; v := v || jsonb_build_object('forms', n);
  update anchor_decisions d set facts = facts_without_identity(d.facts, p_items)
    where d.participant_id = p_id and d.facts <> facts_without_identity(d.facts, p_items);
  get diagnostics n = row_count; v := v || jsonb_build_object('decisions', n);
  update anchor_commands c set outcome = jsonb_set(c.outcome, '{facts}', facts_without_identity(c.outcome->'facts', p_items))
    where c.participant_id = p_id and c.outcome->'facts' <> facts_without_identity(c.outcome->'facts', p_items);
  update anchor_date_history set ip_address = null, user_agent = null where participant_id = p_id and actor_type = 'participant' and (ip_address is not null or user_agent is not null);
  perform set_config('app.erasing', '', true);
  update assessment_sessions set device_id = null where participant_id = p_id and device_id is not null;
  get diagnostics n = row_count; v := v || jsonb_build_object('devices', n);
  delete from portal_links where participant_id = p_id;
  update notifications set status = 'cancelled', reason = 'erased' where participant_id = p_id and user_id is null and status = 'pending';
  get diagnostics n = row_count; v := v || jsonb_build_object('notifications', n);
  -- Answers kept for a repeated request quote the participant as it was.
  delete from idempotency_keys where body like '%' || p_id || '%';
  update participants set email = null, phone = null, date_of_birth = null, participant_code = coalesce(p_code, participant_code),
      withdrawal_reason = null, erased_at = clock_timestamp(), erased_by_id = p_by, erasure_reason = p_reason where id = p_id;
  return v;
end $$;
revoke all on function erase_participant(uuid, uuid, text, text, text[]) from public;
grant execute on function erase_participant(uuid, uuid, text, text, text[]) to research_app;
`;
