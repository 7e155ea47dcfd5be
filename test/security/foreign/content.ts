import type { Stage } from '../../anchor/stage.js';
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

/** The digest, once nothing of it changes any more by the work that goes on behind the requests. */
export async function restingContent(stage: Stage, column: 'study_id' | 'participant_id', id: string) {
  let before = '';
  return until(
    async () => {
      const now = await contentOf(stage, column, id);
      const same = JSON.stringify(now) === before;
      before = JSON.stringify(now);
      return same ? now : undefined;
    },
    { interval: 2_000, timeout: 90_000, what: 'the study to come to rest' },
  );
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
