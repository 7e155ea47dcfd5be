/**
 * People who were erased by former releases: what an erasure removes since, as the names that staff gave to their
 * visits, reasons, notes of reviews, and identifying items inside of others, stayed.
 */
export const name = '0123-former-erasures';
export const up = `
-- A form of an erased person keeps its items, whatever is written.
alter table form_instances disable trigger keep_erased_items;
do $do$
declare p record; named text[];
begin
  for p in select id, study_id, coalesce(erasure_reason, '') as reason from participants
    -- Those who were erased later lack nothing.
    where erased_at < (select migration_time from knex_migrations where name = '0122-erased-visit-names') order by id
  loop
    named := array(select c.participant_field_mapping->>f from datacapture_configs c, unnest(array['email', 'phone', 'date_of_birth']) f
      where c.study_id = p.study_id and c.participant_field_mapping->>f is not null);
    perform erase_reasons(p.id, p.reason), erase_visit_texts(p.id), erase_inputs(p.id, named);
    perform set_config('app.erasing', 'on', true);
    update form_instances set items = without_identity(items, named)
      where participant_id = p.id and items <> without_identity(items, named);
    update anchor_decisions set facts = facts_without_identity(facts, named)
      where participant_id = p.id and facts <> facts_without_identity(facts, named);
    update anchor_commands set outcome = jsonb_set(outcome, '{facts}', facts_without_identity(outcome->'facts', named))
      where participant_id = p.id and outcome->'facts' <> facts_without_identity(outcome->'facts', named);
    perform set_config('app.erasing', '', true);
    update sync_conflicts set local_content = local_content || '{"deviceId": null}'
      where participant_id = p.id and local_content->>'deviceId' is not null;
    update sync_conflicts set server_content = server_content || '{"deviceId": null}'
      where participant_id = p.id and server_content->>'deviceId' is not null;
  end loop;
end $do$;
alter table form_instances enable trigger keep_erased_items;
`;
