import { hash } from 'node:crypto';
import { recordBytes, recordsAfter } from './audit-records.js';
import { canonicalJson } from './canonical-json.js';
import type { Database, Tx } from './knex.js';
import { nameOf } from './prepared.js';

/** As much of a record as its place in a chain is judged by: `bytes` is what its hash is taken of. */
export interface Sealed { seq: number; prev_hash: string; hash: string; bytes: string }

const BATCH = 4_000;
const RECORD = '\x1e', FIELD = '\x1f', FIELDS = 12;
// One value a batch: a driver that makes an object of each row spends more on that than verifying takes. An equals sign
// before what may be null tells it from an empty text.
const text = (column: string) => `coalesce('=' || ${column}, '')`;
const PAGE = `select count(*)::integer as rows, max(seq)::text as last, coalesce(string_agg(line, E'\\x1e' order by seq), '') as page from (
  select seq, concat_ws(E'\\x1f', seq, prev_hash, hash, hash_version, created_at at time zone 'UTC', action, resource_type, ${text('resource_id')}, ${text('request_id')}, ${text('study_id')}, ${text('user_id')}, audit_metadata) as line
  from audit_log where chain = $1 and seq > $2 and seq <= $3 order by seq limit ${BATCH}) page`;

interface Connection { query(statement: { name: string; text: string; values: readonly unknown[] }): Promise<{ rows: [Page] }> }
interface Page { rows: number; last: string | null; page: string }

/**
 * The records of a chain after `seq`, in order, in batches, the next of which is read while one is worked on.
 * `quick`: read in one piece. What does not hold must then be read again by `again` before it is called a fault: a
 * text that holds the separators comes out wrong here.
 */
export async function* sealedAfter(db: Database | Tx, chain: string, seq: number, until = Number.MAX_SAFE_INTEGER): AsyncGenerator<{ records: Sealed[]; quick: boolean; again: () => Promise<Sealed[]> }> {
  const connection = await db.client.acquireConnection() as Connection;
  const ask = async (after: number): Promise<Page> => (await connection.query({ name: nameOf(PAGE), text: PAGE, values: [chain, after, until] })).rows[0];
  try {
    let next: Promise<Page> | undefined = ask(seq);
    for (let at = seq; next;) {
      const { rows, last, page }: Page = await next;
      if (rows === 0) return;
      const from = at;
      at = Number(last);
      next = rows === BATCH && at < until ? ask(at) : undefined;
      // Whoever stops here leaves the next batch unread: a fault of it is nobody's.
      next?.catch(() => undefined);
      const records = sealedOf(chain, page, rows);
      const again = () => slowly(db, chain, from, at);
      yield records ? { records, quick: true, again } : { records: await again(), quick: false, again };
    }
  } finally {
    // Within a transaction the connection stays with it.
    await db.client.releaseConnection(connection);
  }
}

async function slowly(db: Database | Tx, chain: string, after: number, until: number): Promise<Sealed[]> {
  const records: Sealed[] = [];
  for await (const batch of recordsAfter(db, chain, after, until)) for (const row of batch) records.push({ seq: row.seq, prev_hash: row.prev_hash, hash: row.hash, bytes: recordBytes(row) });
  return records;
}

/** The records of a page; undefined where it does not fall into as many as there are. */
function sealedOf(chain: string, page: string, rows: number): Sealed[] | undefined {
  const lines = page.split(RECORD);
  if (lines.length !== rows) return undefined;
  const named = quoted(chain);
  const records: Sealed[] = [];
  for (const line of lines) {
    const fields = line.split(FIELD);
    if (fields.length !== FIELDS) return undefined;
    const [seq, prev, hash, version, created, action, type, resource, request, study, user, metadata] = fields as [string, string, string, string, string, string, string, string, string, string, string, string];
    records.push({
      seq: Number(seq), prev_hash: prev, hash,
      bytes: `${prev}{"action":${quoted(action)},"audit_metadata":${canonical(metadata)},"chain":${named},"created_at":"${microseconds(created)}","hash_version":${version},"request_id":${nullable(request)},`
        + `"resource_id":${nullable(resource)},"resource_type":${quoted(type)},"seq":${seq},"study_id":${nullable(study)},"user_id":${nullable(user)}}`,
    });
  }
  return records;
}

const PLAIN = /^[ !#-[\]-~]*$/;
const quoted = (value: string): string => (PLAIN.test(value) ? `"${value}"` : JSON.stringify(value));
const nullable = (value: string): string => (value === '' ? 'null' : quoted(value.slice(1)));
const canonical = (json: string): string => (json === '{}' ? json : canonicalJson(JSON.parse(json)));

/** '2026-01-05 10:00:00.5' as it is sealed: six decimals, always. */
function microseconds(value: string): string {
  const [whole, fraction = ''] = value.split('.');
  return `${whole!.replace(' ', 'T')}.${fraction.padEnd(6, '0')}Z`;
}

/** The fault of a record at its place in the chain, in words; undefined: it holds. */
export function faultAt(record: Sealed, place: { seq: number; head: string }): string | undefined {
  if (record.seq !== place.seq) return `record ${place.seq} is missing`;
  if (record.prev_hash !== place.head) return 'it does not follow the record before it';
  if (record.hash !== hash('sha256', record.bytes, 'hex')) return 'its content is not what was sealed';
  return undefined;
}
