import { unique } from '../../support/http.js';
import type { Answer, Http, Loose } from '../../support/http.js';
import type { Operation, Place, Schema } from './places.js';
import type { Ids } from './studies.js';

/** Texts, one of which fits each pattern of the contract. */
const TEXTS = [
  'x',
  'en',
  'UTC',
  '08:00',
  '2024-03-10',
  'a-b',
  'x@example.org',
  'https://example.org/x',
  '123456',
  '+4930123456',
];
const OF_FORMAT: Readonly<Record<string, string>> = {
  date: '2024-03-10',
  'date-time': '2024-03-10T10:00:00Z',
  email: 'x@example.org',
  uri: 'https://example.org/x',
  'time-zone': 'UTC',
  uuid: '00000000-0000-4000-8000-000000000000',
};
/** Bodies whose members mean something together that no schema says. */
const BESIDE: Readonly<Record<string, Record<string, unknown>>> = {
  'POST /api/schedules/visits': { name: 'x', target_date: '2024-03-10' },
  'POST /api/portal/magic-link': { channel: 'email' },
};
/** What an item of a device must have beside the words of its schema. */
const SUMMARY = { score: 1 };

/** The least that fits a schema, with `leaf` at the place of `steps`. Required ids are the caller's own. */
function sample(
  schema: Schema,
  own: (name: string) => unknown,
  steps: readonly string[] = [],
  leaf?: unknown,
): unknown {
  const [step, ...rest] = steps;
  if (step === undefined && leaf !== undefined) return leaf;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices && !schema.properties)
    return sample(choices.find((one) => step === undefined || canHave(one, step)) ?? choices[0]!, own, steps, leaf);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum.find((value) => value !== null);
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  switch (type) {
    case 'object': {
      const properties = schema.properties ?? {};
      const parts = new Set([
        ...(schema.required ?? []),
        // Without the study that it is about a request is refused before anything else.
        ...(properties.study_id ? ['study_id'] : []),
        ...(step === undefined ? [] : [step]),
      ]);
      const made = [...parts].map((name) => {
        const part = properties[name] ?? { type: 'string' };
        if (name === step) return [name, sample(part, own, rest, leaf)];
        // A name that a device gives to its item: another one each time.
        if (name === 'id') return [name, unique('item')];
        const known = own(name);
        return [name, known === undefined ? sample(part, own) : part.type === 'array' ? [known] : known];
      });
      return Object.fromEntries([
        ...made,
        ...(properties.summary && properties.sessionId ? [['summary', SUMMARY]] : []),
      ]);
    }
    case 'array': {
      if (step === '[]') return [sample(schema.items!, own, rest, leaf)];
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? { type: 'string' }, own));
    }
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return false;
    default: {
      const byFormat = schema.format && OF_FORMAT[schema.format];
      if (byFormat) return byFormat;
      const pattern = schema.pattern === undefined ? /^/ : new RegExp(schema.pattern, 'u');
      const found = TEXTS.find((text) => text.length >= (schema.minLength ?? 0) && pattern.test(text));
      return found ?? 'x'.repeat(schema.minLength ?? 1);
    }
  }
}
const canHave = (schema: Schema, step: string): boolean =>
  step === '[]' ? schema.items !== undefined : schema.properties?.[step] !== undefined;

/** A file of one new participant. */
const file = () => ({
  type: 'multipart/form-data; boundary=b',
  content:
    `--b\r\nContent-Disposition: form-data; name="file"; ` +
    `filename="a.csv"\r\n\r\nparticipant_code\n${unique('F')}\n\r\n--b--\r\n`,
});

/** The ids of a caller's own study, as parameters of an operation take them. */
export type Own = (operation: Operation, name: string) => string | number | undefined;

/** Sends an operation's least request with the caller's own ids, and another's at one place. */
export function sendWith(
  by: Http,
  { operation, at, steps, kind }: Place,
  own: Own,
  foreign: Ids,
): Promise<Answer<Loose>> {
  const value = foreign[kind]!;
  const name = steps[0]!;
  const mine = (param: string) => own(operation, param);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, param: string) =>
    encodeURIComponent(at === 'path' && param === name ? value : (mine(param) ?? 'x')),
  );
  const query = new URLSearchParams();
  for (const { in: where, name: param, required, schema } of operation.parameters)
    if (where === 'query' && required && param !== name) query.set(param, String(mine(param) ?? sample(schema, mine)));
  if (at === 'query') query.set(name, String(value));
  const headers = at === 'header' ? { [name]: String(value) } : {};
  const target = `${path}${query.size > 0 ? `?${query.toString()}` : ''}`;
  if (operation.takesFile) return by.send(operation.method, target, undefined, { headers, raw: file() });
  const made =
    operation.body && (at === 'body' ? sample(operation.body, mine, steps, value) : sample(operation.body, mine));
  const beside = BESIDE[operation.name];
  const body = made !== undefined && beside ? { ...beside, ...(made as object) } : made;
  return by.send(operation.method, target, body, { headers });
}
