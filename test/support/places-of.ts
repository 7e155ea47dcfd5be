import type { Client } from 'pg';

/** The names of all tables of the database in which a word stands. */
export async function placesOf(owner: Client, word: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const {
      rows: [hit],
    } = await owner.query(`select exists (select from "${name}" x where x::text like $1) as there`, [`%${word}%`]);
    if (hit.there) found.push(name);
  }
  return found;
}
