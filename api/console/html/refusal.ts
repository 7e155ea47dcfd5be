import type { FaultEntry, Problem } from '../../http/errors.js';
import type { Words } from '../words/words.js';

/** A refusal as shown to a person. `detail`: the service's English text, if the words are not enough. */
export interface RefusalText {
  title: string;
  what: string;
  detail?: string;
}

/**
 * A refusal in the reader's words: by its code, else by its status, else the code itself.
 * @param named the label of a refused field
 */
export function refusalOf(
  { problems }: Words,
  { code, status, message, options }: Problem,
  named = (path: string) => fieldName(problems, path),
): RefusalText {
  const byCode = problems.byCode[code];
  if (byCode) return byCode;
  const byStatus = problems.byStatus[status];
  const entries = options.errors?.slice(0, MAX_FAULTS).map((entry) => entryText(problems, entry, named)) ?? [];
  const what = entries.length > 0 && EACH_ENTRY.includes(code) ? undefined : problems.refusals[code];
  if (what || entries.length > 0)
    return {
      title: byStatus?.title ?? problems.title,
      what: [what, ...entries].filter(Boolean).join(' '),
    };
  // A conflict's general text says that another user was faster, which may be wrong here.
  if (byStatus && status !== 409) return byStatus;
  return { title: problems.title, what: problems.unknown(inWords(code)), detail: message };
}

/** The most rules listed as sentences. */
const MAX_FAULTS = 5;
/** Codes whose entries carry the message. */
const EACH_ENTRY = [
  'VALIDATION_FAILED',
  'RULE_VIOLATED',
  'NOT_ALLOWED_AFTER_SCHEDULING',
  'NOT_ALLOWED_AFTER_DATA_ENTERED',
  'NOT_ALLOWED_AFTER_SIGNATURE',
  'NOT_ALLOWED_AFTER_LOCK',
  'TOKEN_REQUIRED',
];

/** A refusal as one text, for small places. */
export function refusalText(words: Words, fault: Problem, named?: (path: string) => string): string {
  const { what, detail } = refusalOf(words, fault, named);
  return detail ? `${what} ${detail}` : what;
}

/** The fault of one field in words, with the field's label. */
export function entryText(
  problems: Words['problems'],
  entry: FaultEntry,
  named = (path: string) => fieldName(problems, path),
): string {
  const text = ruleText(problems, entry);
  if (text === undefined) return sentence(entry.message);
  return entry.path ? `${named(entry.path)}: ${text}` : text;
}

/** The label of a field, by its name in the service. */
export function fieldName({ fields }: Words['problems'], path: string): string {
  const name = path.replace(/^(body|query)\./, '');
  return fields[name] ?? inWords(name);
}

/** The broken rule of a field in words; undefined: the rule has none. */
export function ruleText({ rules, kinds }: Words['problems'], { path, code, message }: FaultEntry): string | undefined {
  const own = path && message.startsWith(`${path} `) ? message.slice(path.length + 1) : message;
  const parts: Record<string, string | undefined> = {
    n: /-?\d[\d.,]*(?=\D*$)/.exec(own)?.[0],
    kind: kinds[/^(?:is not a valid|must be) (\S+?)(?: \(.*\))?$/.exec(own)?.[1] ?? ''] ?? kinds.other,
    values: /^must be one of (.*)$/s.exec(own)?.[1],
    message: own.replace(/\.$/, ''),
  };
  const words = rules[code];
  if (words === undefined) return undefined;
  const named = [...words.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  // If the service omits a part, only its own sentence is usable.
  if (named.some((name) => !parts[name])) return sentence(own);
  return sentence(words.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts[name]!));
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** A program's name as a person would write it: NOT_PENDING, `study_ids.0`. */
export const inWords = (name: string): string => {
  const words = name.replaceAll(/[_.]+/g, ' ').trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};
