import { hash } from 'node:crypto';
import type { TSchema } from 'typebox';

/**
 * What a record shows of others, and of the day: it changes without the record's own row. Of a user these are the
 * second factor, and studies and sites, which may be deleted.
 */
const SHOWN = [
  'status',
  'participant_code',
  'site_code',
  'adherence',
  'days_off_target',
  'mfa_enabled',
  'study_ids',
  'site_ids',
] as const;

/**
 * The strong tag of a record: its id, its version, and what it shows of others. Undefined if it is not a single record
 * with an `updated_at` or a `version`.
 */
export function etagOf(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return undefined;
  const fields = record as Record<string, unknown>;
  const { id, participant_id, updated_at, version } = fields;
  const key = id ?? participant_id;
  if (key === undefined || (updated_at === undefined && version === undefined)) return undefined;
  const parts = [key, updated_at, version, ...SHOWN.map((name) => fields[name])];
  const source = parts.map((part) => String(part ?? '')).join('|');
  return tagOf(hash('sha256', source, 'base64url'));
}

/** Whether a schema describes such records, at least partly. */
export function describesTagged(schema: TSchema): boolean {
  const { properties = {}, anyOf = [] } = schema as { properties?: object; anyOf?: TSchema[] };
  return (
    (('id' in properties || 'participant_id' in properties) &&
      ('updated_at' in properties || 'version' in properties)) ||
    anyOf.some(describesTagged)
  );
}

/** The strong tag of a resource without a version: of its whole content. */
export const contentTag = (content: object): string => tagOf(hash('sha256', JSON.stringify(content), 'base64url'));
const tagOf = (digest: string): string => `"${digest.slice(0, 22)}"`;

/**
 * Whether an If-Match or If-None-Match list names the tag (`*`: any). Weak tags are compared by value for
 * If-None-Match.
 */
export function matchesEtag(list: string, tag: string, weak: boolean): boolean {
  return list.split(',').some((part) => {
    const given = part.trim();
    return given === '*' || given === tag || (weak && given === `W/${tag}`);
  });
}

/** Whether the client already has what has this tag, by its If-None-Match. */
export function isKnown(asked: { method: string; get: (header: string) => string }, tag: string): boolean {
  const known = asked.get('if-none-match');
  return (
    (asked.method === 'GET' || asked.method === 'HEAD') && known !== '' && tag !== '' && matchesEtag(known, tag, true)
  );
}
