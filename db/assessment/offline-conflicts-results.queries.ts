import { execute, query } from '../client/query.js';
import { CHUNK } from './trials.queries.js';
import type { TaskRecord } from './submissions.queries.js';
import type { Tx } from '../client/database.js';

/** Trials of a row of columns, in their order: one detoasting for each column, not one for each trial. */
const TRIALS_OF = `rows from (unnest(s.trial_index), unnest(s.rt), unnest(s.correct), unnest(s.at), unnest(s.practice),
  jsonb_array_elements(s.data))
  with ordinality as t(trial_index, rt, correct, at, practice, data, n)`;
/** '2026-01-05T10:00:00.500Z', as trials are read back. */
const INSTANT =
  `to_char(t.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.') || rpad(rtrim(to_char(t.at at time zone 'UTC', ` +
  `'US'), '0'), 3, '0') || 'Z'`;
const TRIAL = `jsonb_build_object('task', s.task, 'trial_index', t.trial_index, 'rt', t.rt, 'correct', t.correct,
  'timestamp', ${INSTANT})
  || case when jsonb_typeof(t.data) = 'object' then jsonb_build_object('data', t.data) else '{}' end
  || case when t.practice then '{"practice": true}'::jsonb else '{}' end`;
const WITH_TRIALS = `a.task || jsonb_build_object('trials', coalesce((
  select jsonb_agg(${TRIAL} order by s.chunk, t.n) from raw_trial_chunks s cross join lateral ${TRIALS_OF}
  where s.session_id = $2 and s.task = a.task->>'task'), '[]'))`;

/**
 * Keeps results of a session in a conflict, with their trials: as its content of the server, or beside that as
 * `tasks`. The database writes them: they may be megabytes long.
 */
export async function keepResults(
  tx: Tx,
  id: string,
  sessionId: string,
  tasks: readonly TaskRecord[],
  how: 'content' | 'tasks',
): Promise<void> {
  const kept =
    how === 'content'
      ? `(select ${WITH_TRIALS} from jsonb_array_elements($3::jsonb) as a(task))`
      : `coalesce(server_content, '{}') || jsonb_build_object('tasks', (select jsonb_agg(${WITH_TRIALS} order by a.n)
        from jsonb_array_elements($3::jsonb) with ordinality as a(task, n)))`;
  await execute(tx, `update sync_conflicts set server_content = ${kept} where id = $1`, [
    id,
    sessionId,
    JSON.stringify(tasks),
  ]);
}

/** A field of a conflict, as each side has it; its beginning if it is long, `[number of items]` of a list. */
export interface ConflictField {
  field: string;
  local: string | null;
  server: string | null;
  differs: boolean;
}
export interface ConflictOutline {
  fields: ConflictField[];
  /** Of all fields, of which there may be more. */
  total: number;
  /** Of a response: trials of each side, and those that are not the same; null: not known. */
  trials: { local: number; server: number; differ: number } | null;
}

/** The results that the conflict is about, as long as the conflict does not keep the server's itself. */
const SERVER = `case when k.kind = 'response' and not coalesce(k.server_content ? 'trials', false)
  then coalesce(k.server_content, '{}') || coalesce(
    (select jsonb_build_object('task', r.task, 'summary', r.summary) from session_tasks r
      where r.session_id = k.session_id and r.task = k.task), '{}')
  else k.server_content end`;
const TEXT = `case jsonb_typeof(f.value) when 'null' then null when 'array'
  then '[' || jsonb_array_length(f.value) || ']' else left(f.value #>> '{}', $3 + 1) end`;

/** A conflict in a few lines, for a page: its contents may be megabytes long, and stay in the database. */
export async function conflictOutline(
  tx: Tx,
  id: string,
  { fields: most, letters, hidden }: { fields: number; letters: number; hidden: readonly string[] },
): Promise<ConflictOutline> {
  const [outline] = await query<Omit<ConflictOutline, 'trials'>>(
    tx,
    `with sides as materialized (
       select s.side, s.content - 'trials' as content from sync_conflicts k
       cross join lateral (values (1, k.local_content), (2, ${SERVER})) as s(side, content) where k.id = $1),
     top as (select s.side, e.key, e.value, e.n from sides s cross join lateral jsonb_each(s.content)
       with ordinality as e(key, value, n)
       where e.key <> all ($4::text[])),
     fields as (
       select side, key as field, value, n, 0::bigint as m from top where jsonb_typeof(value) <> 'object'
       union all
       select t.side, t.key || '.' || i.key, i.value, t.n, i.m from top t
       cross join lateral jsonb_each(t.value) with ordinality as i(key, value, m)
         where jsonb_typeof(t.value) = 'object'),
     texts as (select f.*, ${TEXT} as text from fields f),
     lines as (
       select left(field, $3) as field, min(text) filter (where side = 1) as local,
         min(text) filter (where side = 2) as server,
         min(side) as side, min(n) as n, min(m) as m,
         (array_agg(value) filter (where side = 1 and text is not null))[1] is distinct
           from (array_agg(value) filter (where side = 2 and text is not null))[1] as differs
       from texts where text is not null group by field),
     chosen as (select *, row_number() over (order by differs desc, side, n, m) as place from lines)
     select (select count(*)::integer from lines) as total,
       coalesce((select jsonb_agg(jsonb_build_object('field', field, 'local', local, 'server', server, 'differs',
         differs) order by side, n, m) from chosen where place <= $2), '[]') as fields`,
    [id, most, letters, [...hidden]],
  );
  return { ...outline!, trials: await differingTrials(tx, id) };
}

const list = (content: string) => `case when jsonb_typeof(${content}) = 'array' then ${content} else '[]' end`;
const OF_JSON = (content: string) =>
  `select e.n, e.trial->'trial_index' as index, e.trial->'rt' as rt, e.trial->'correct' as correct,
     case when pg_input_is_valid(e.trial->>'timestamp', 'timestamptz') then (e.trial->>'timestamp')::timestamptz
       end as at,
     nullif(e.trial->'data', 'null') as data, coalesce(e.trial->>'practice', 'false') as practice
   from k cross join lateral jsonb_array_elements(${list(content)}) with ordinality as e(trial, n)`;

async function differingTrials(tx: Tx, id: string): Promise<ConflictOutline['trials']> {
  const [row] = await query<{ local: number; server: number; differ: number }>(
    tx,
    `with k as materialized (select session_id, task, local_content->'trials' as local,
      server_content->'trials' as server from sync_conflicts
       where id = $1 and kind = 'response'),
     local as (${OF_JSON('k.local')}),
     server as (${OF_JSON('k.server')}
       union all
       select s.chunk * ${CHUNK} + t.n, to_jsonb(t.trial_index), to_jsonb(t.rt), to_jsonb(t.correct), t.at,
         nullif(t.data, 'null'), coalesce(t.practice, false)::text
       from k join raw_trial_chunks s on s.session_id = k.session_id and s.task = k.task cross join lateral ${TRIALS_OF}
         where k.server is null)
     select count(l.n)::integer as local, count(r.n)::integer as server,
       count(*) filter (where (l.n, l.index, nullif(l.rt, 'null'), nullif(l.correct, 'null'), l.at, l.data, l.practice)
         is distinct from (r.n, r.index, nullif(r.rt, 'null'), nullif(r.correct, 'null'), r.at, r.data,
           r.practice))::integer as differ
     from local l full join server r on r.n = l.n`,
    [id],
  );
  return row && (row.local > 0 || row.server > 0) ? row : null;
}
