import { createHash } from 'node:crypto';
import type { NewTrigger } from '../../../db/capture/webhook-events.queries.js';
import { problem } from '../../http/errors.js';

const REQUIRED = ['project_id', 'record', 'instrument'] as const;
const MAX_LENGTHS = {
  project_id: 100,
  record: 500,
  instrument: 200,
  event_name: 200,
  data_access_group: 200,
  repeat_instance: 20,
} as const;

/**
 * Reads a data-entry trigger. Keys come in any order, with the prefix `datacapture_` or `redcap_`; keys that do not
 * apply are absent. Record ids are arbitrary text: they are neither trimmed nor parsed as numbers.
 * @throws 400 naming every missing required field, or an impossible value
 */
export async function parseTrigger(raw: Buffer, contentType: string): Promise<NewTrigger> {
  const fields = await readForm(raw, contentType);
  const missing = REQUIRED.filter((name) => (fields.get(name) ?? '').trim() === '');
  if (missing.length > 0) {
    throw problem('RULE_VIOLATED', {
      detail: `Missing required fields: ${missing.join(', ')}.`,
      errors: missing.map((path) => ({ path, code: 'REQUIRED', message: `${path} is missing` })),
    });
  }
  const prefixed = (name: string) => fields.get(`datacapture_${name}`) || fields.get(`redcap_${name}`) || null;
  const trigger = {
    project_id: fields.get('project_id')!.trim(),
    record: fields.get('record')!,
    instrument: fields.get('instrument')!,
    event_name: prefixed('event_name'),
    data_access_group: prefixed('data_access_group'),
    repeat_instance: prefixed('repeat_instance'),
  };
  const odd = (Object.keys(MAX_LENGTHS) as (keyof typeof MAX_LENGTHS)[]).filter(
    (name) => !storable(trigger[name], MAX_LENGTHS[name]),
  );
  if (odd.length > 0) {
    throw problem('RULE_VIOLATED', {
      detail: `Fields that cannot be read: ${odd.join(', ')}.`,
      errors: odd.map((path) => ({
        path,
        code: 'INVALID',
        message:
          `${path} is longer than ${MAX_LENGTHS[path]} characters, or holds control characters or bytes that are ` +
          'not UTF-8',
      })),
    });
  }
  return { ...trigger, raw_body_hash: createHash('sha256').update(raw).digest() };
}

// An invalid UTF-8 byte arrives as U+FFFD: two records would become one.
const storable = (value: string | null, longest: number) =>
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  value === null || (value.length <= longest && !/[\u0000-\u001f\u007f\ufffd]/.test(value));

/** A form's text fields; the last one of a name counts, as in the capture system's own language. */
async function readForm(raw: Buffer, contentType: string): Promise<Map<string, string>> {
  if (!contentType.toLowerCase().startsWith('multipart/')) return new Map(new URLSearchParams(raw.toString('utf8')));
  try {
    const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': contentType } }).formData();
    return new Map([...form].filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch (cause) {
    throw problem('BAD_REQUEST', { detail: 'The body is not valid multipart/form-data.', cause });
  }
}
