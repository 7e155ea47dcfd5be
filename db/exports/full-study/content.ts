import { hashOf } from '../../audit/hashing.js';
import { BATTERY_KEYS, CAPTURE_DEFAULTS, KEYS_OF_USERS } from './batteries.js';
import { eventContent, SETTLED_COLUMNS, signatureContent } from './claims.js';
import type { StudyDocument } from './document.js';
import { EXPORTED_STUDY_COLUMNS, ofTarget } from './tables.js';

type Row = Record<string, unknown>;
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Columns that a load sets itself: pending work, and the persons who did something. */
const SETTLED: Record<string, readonly string[]> = {
  ...SETTLED_COLUMNS,
  notifications: ['status', 'reason', 'dedupe_key'],
  webhook_events: ['status', 'error'],
  datacapture_configs: ['webhook_enabled', 'created_at', 'updated_at'],
};

/** Old documents have instants without Z: the same instant, and the same content. */
const WITH_OFFSET = /^\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$/;

/**
 * SHA-256 of a document's content, independent of its ids: rows are sorted by content, ids are numbered by first
 * occurrence. A document and a copy loaded from it have the same hash.
 */
export function contentHash({ study, tables }: StudyDocument): string {
  const names = new Map<string, string>();
  const named = (id: string): string => {
    if (!names.has(id)) names.set(id, `#${names.size}`);
    return names.get(id)!;
  };
  // Rows that differ by ids only are sorted by the ids met before: two trials of one millisecond belong to two
  // sessions.
  const met = (text: string): string => text.replaceAll(ID, (id) => names.get(id) ?? '#');
  const batteries = new Map((tables.batteries ?? []).map(({ id, code }) => [id, `battery ${String(code)}`]));
  const plain = (table: string, row: Row) =>
    JSON.stringify(
      asInEveryCopy(
        Object.fromEntries(
          Object.entries(row)
            .filter(([name]) => !SETTLED[table]?.includes(name))
            .map(([name, value]) => [
              name,
              table === 'domain_events' && name === 'data'
                ? eventContent(value)
                : name === 'signature'
                  ? signatureContent(value)
                  : value,
            ]),
        ),
        batteries,
        table,
      ),
    );
  const content: Record<string, unknown> = {
    study: Object.fromEntries(
      EXPORTED_STUDY_COLUMNS.filter((name) => !ofTarget.has(name)).map((name) => [
        name,
        name === 'config' ? configContent(study.config, batteries) : (study[name] ?? null),
      ]),
    ),
  };
  for (const [table, rows] of Object.entries(tables).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const texts = rows
      .map((row) => plain(table, row))
      .map((text) => ({ text, key: text.replaceAll(ID, '#') }))
      .sort((a, b) => compared(a.key, b.key) || compared(met(a.text), met(b.text)));
    content[table] = texts.map(({ text }) => text.replaceAll(ID, named));
  }
  return hashOf(content);
}

/** A study's configuration; what a template has brought of it names batteries. */
function configContent(config: unknown, batteries: ReadonlyMap<unknown, string>): unknown {
  const defaults = (config as Row | null | undefined)?.[CAPTURE_DEFAULTS];
  if (defaults === undefined) return config ?? null;
  return { ...(config as Row), [CAPTURE_DEFAULTS]: asInEveryCopy(defaults, batteries, '') };
}

const NONE: ReadonlyMap<unknown, string> = new Map();
const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Replaces numbers of batteries by the code that they have in every copy, and writes instants in the current format.
 */
function asInEveryCopy(value: unknown, batteries: ReadonlyMap<unknown, string>, table: string): unknown {
  if (typeof value === 'string') return WITH_OFFSET.test(value) ? `${value.slice(0, -'+00:00'.length)}Z` : value;
  if (Array.isArray(value)) return value.map((item) => asInEveryCopy(item, batteries, ''));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      BATTERY_KEYS.has(key) || (table === 'batteries' && key === 'id')
        ? (batteries.get(item) ?? item)
        : asInEveryCopy(item, KEYS_OF_USERS.has(key) ? NONE : batteries, ''),
    ]),
  );
}
