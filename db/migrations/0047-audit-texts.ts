/** Sealing records with long metadata takes half the time. */
export const name = '0047-audit-texts';
export const up = `
-- Compressing 190 KB of ids and hashes, which become little smaller by it, took a third of what sealing them takes.
alter table audit_log alter column audit_metadata set storage external;

-- As before, with each entry's metadata (canonical JSON) beside it in the same order: within the entries' own JSON it was
-- escaped, read and put together again. The record gets its metadata last: what it is handed to copies all that it has.
create function audit_append(p_study uuid, entries jsonb, metadata text[]) returns bigint language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_chain text := coalesce(p_study::text, 'service');
  v_head text; v_seq bigint; e jsonb; m text; r audit_log;
begin
  if cardinality(metadata) <> jsonb_array_length(entries) then
    raise exception 'audit_append: % entries and metadata of %', jsonb_array_length(entries), cardinality(metadata);
  end if;
  select seq, head into v_seq, v_head from audit_chains where chain = v_chain for update;
  if not found then
    insert into audit_chains (chain, study_id, seq, head) values (v_chain, p_study, 0, repeat('0', 64)) on conflict do nothing;
    select seq, head into v_seq, v_head from audit_chains where chain = v_chain for update;
  end if;
  for e, m in select each.e, coalesce(each.m, each.e->>'metadata') from rows from (jsonb_array_elements(entries), unnest(metadata)) with ordinality as each(e, m, n) order by each.n loop
    v_seq := v_seq + 1;
    r.seq := v_seq; r.chain := v_chain; r.study_id := p_study;
    r.user_id := (e->>'user_id')::uuid; r.action := e->>'action';
    r.resource_type := e->>'resource_type'; r.resource_id := e->>'resource_id';
    r.audit_metadata := null; r.request_id := e->>'request_id';
    r.created_at := clock_timestamp(); r.hash_version := 1; r.prev_hash := v_head;
    r.hash := encode(sha256(convert_to(v_head || audit_canonical(r, m), 'UTF8')), 'hex');
    r.audit_metadata := m::jsonb;
    insert into audit_log values (r.*);
    v_head := r.hash;
  end loop;
  update audit_chains set seq = v_seq, head = v_head where chain = v_chain;
  return v_seq;
end $$;
revoke all on function audit_append(uuid, jsonb, text[]) from public;
grant execute on function audit_append(uuid, jsonb, text[]) to research_app;

-- Of entries that bear their metadata themselves.
create or replace function audit_append(p_study uuid, entries jsonb) returns bigint language sql security definer set search_path = public, pg_temp as $$
  select audit_append(p_study, entries, null)
$$;
`;
