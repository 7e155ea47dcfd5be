import { hash } from 'node:crypto';
import type { TSchema } from 'typebox';

/**
 * The strong tag of a record: its id and its version. Undefined if it is not a single record with an `updated_at` or a
 * `version`.
 */
export function etagOf(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return undefined;
  const { id, participant_id, updated_at, version, status } = record as Record<string, unknown>;
  const key = id ?? participant_id;
  if (key === undefined || (updated_at === undefined && version === undefined)) return undefined;
  const source = [key, updated_at, version, status].map((part) => String(part ?? '')).join('|');
  return `"${hash('sha256', source, 'base64url').slice(0, 22)}"`;
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
export const contentTag = (content: object): string =>
  `"${hash('sha256', JSON.stringify(content), 'base64url').slice(0, 22)}"`;

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
