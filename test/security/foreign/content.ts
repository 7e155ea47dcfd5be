import type { Stage } from '../../anchor/stage.js';
import { runSchedule } from '../../assessment/stage.js';
import { until } from '../../support/until.js';

/**
 * What is left out of the digest, and why: an attempt that was refused is recorded, and counted in the chain.
 */
const LEFT_OUT = ['audit_log', 'audit_chains'];

interface Holder {
  name: string;
  condition: string;
}

/** Every table that holds rows of a study, or of a participant, by itself or by a row of another. */
async function holders(stage: Stage, column: 'study_id' | 'participant_id'): Promise<Holder[]> {
  const direct = await stage.sql<{ name: string }>(
    `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = ? order by 1`,
    [column],
  );
  const names = direct.map(({ name }) => name);
  const beside = await stage.sql<{ name: string; key: string; parent: string; parent_key: string }>(
    `select distinct on (c.conrelid) c.conrelid::regclass::text as name, a.attname as key, c.confrelid::regclass::text as parent, p.attname as parent_key
     from pg_constraint c
     join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
     join pg_attribute p on p.attrelid = c.confrelid and p.attnum = c.confkey[1]
     where c.contype = 'f' and c.confrelid::regclass::text = any(?) and not c.conrelid::regclass::text = any(?)
     order by c.conrelid, c.oid`,
    [names, names],
  );
  const own = column === 'study_id' ? 'studies' : 'participants';
  return [
    { name: own, condition: 't.id = ?' },
    ...names.map((name) => ({ name, condition: `t.${column} = ?` })),
    ...beside
      .filter(({ name }) => name !== own)
      .map(({ name, key, parent, parent_key }) => ({
        name,
        condition: `t.${key} in (select parent.${parent_key} from ${parent} parent where parent.${column} = ?)`,
      })),
  ].filter(({ name }) => !LEFT_OUT.includes(name));
}

/** A digest of each table's rows of a study, or of a participant, as the database's owner sees them. */
export async function contentOf(
  stage: Stage,
  column: 'study_id' | 'participant_id',
  id: string,
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const { name, condition } of await holders(stage, column)) {
    const [row] = await stage.sql<{ rows: number; hash: string }>(
      `select count(*)::int as rows, coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as hash from ${name} t where ${condition}`,
      [id],
    );
    digests[name] = `${row!.rows} rows, ${row!.hash}`;
  }
  return digests;
}

/** The visits of a study are moved by the calendar every hour: once they are where today has them, they stay there. */
const calendarIsDone = async (stage: Stage, study: string): Promise<boolean> =>
  (
    await stage.sql(
      `select v.id from scheduled_visits v join participants p on p.id = v.participant_id and p.status = 'enrolled'
       join studies s on s.id = v.study_id left join sites t on t.id = p.site_id
       cross join lateral (select (now() at time zone coalesce(t.timezone, s.timezone))::date as today) z
       where v.study_id = ? and ((v.status = 'scheduled' and v.window_open <= z.today) or (v.status = 'open' and v.window_close < z.today))`,
      [study],
    )
  ).length === 0;

const nothingIsUnderWay = async (stage: Stage, study: string): Promise<boolean> =>
  (
    await stage.sql(
      `select id from exports where study_id = :study and status in ('pending', 'running')
       union all select id from simulations where study_id = :study and status in ('pending', 'running')`,
      { study },
    )
  ).length === 0;

/** What `look` answers, once nothing of it changes any more by the work that goes on behind the requests. */
export async function atRest<T>(stage: Stage, study: string, look: () => Promise<T>): Promise<T & {}> {
  await until(() => nothingIsUnderWay(stage, study), { what: 'exports and simulations to end' });
  await runSchedule('update_visit_statuses', () => calendarIsDone(stage, study), 'the calendar to be followed');
  let before = '';
  return until<T | undefined>(
    async () => {
      const now = await look();
      const same = JSON.stringify(now) === before;
      before = JSON.stringify(now);
      return same ? now : undefined;
    },
    { interval: 2_000, timeout: 90_000, what: 'the study to come to rest' },
  );
}

/** The digest at rest. */
export async function restingContent(stage: Stage, column: 'study_id' | 'participant_id', id: string) {
  const study =
    column === 'study_id'
      ? id
      : (await stage.sql<{ study_id: string }>('select study_id from participants where id = ?', [id]))[0]!.study_id;
  return atRest(stage, study, () => contentOf(stage, column, id));
}

/** Every uuid by which something of a study or participant is known. */
export async function uuidsOf(stage: Stage, column: 'study_id' | 'participant_id', id: string): Promise<Set<string>> {
  const found = new Set<string>([id]);
  const keyed = await stage.sql<{ name: string }>(
    `select a.table_name as name from information_schema.columns a
     join information_schema.columns b on b.table_schema = a.table_schema and b.table_name = a.table_name
     where a.table_schema = 'public' and a.column_name = ? and b.column_name = 'id' and b.data_type = 'uuid'`,
    [column],
  );
  for (const { name } of keyed)
    for (const row of await stage.sql<{ id: string }>(`select id from ${name} where ${column} = ?`, [id]))
      found.add(row.id);
  return found;
}
