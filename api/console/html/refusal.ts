import type { FaultEntry, Problem } from '../../http/errors.js';
import type { Words } from '../words/words.js';

/** What a refusal says to a person. `detail`: what the service says of it in English, where the words are not enough. */
export interface Refusal {
  title: string;
  what: string;
  detail?: string;
}

/** A refusal in the reader's words: by its code, else by its status, else its code is the words. */
export function refusalOf({ problems }: Words, { code, status, message, options }: Problem): Refusal {
  const byCode = problems.byCode[code];
  if (byCode) return byCode;
  const byStatus = problems.byStatus[status];
  const what = problems.refusals[code];
  const entries = options.errors?.map((entry) => entryText(problems.rules, entry)) ?? [];
  if (what || entries.length > 0)
    return {
      title: byStatus?.title ?? problems.title,
      what: [what, ...entries.slice(0, MAX_FAULTS)].filter(Boolean).join(' '),
      ...(what === undefined && { detail: message }),
    };
  // That somebody was faster is said only where it is so.
  if (byStatus && status !== 409) return byStatus;
  return { title: problems.title, what: problems.unknown(inWords(code)), detail: message };
}

/** So many rules are told in one sentence after the other. */
const MAX_FAULTS = 5;

/** The fault of one field, in words. */
export const entryText = (rules: Words['problems']['rules'], { path, code, message }: FaultEntry): string => {
  const words = rules[code];
  if (!words) return /[.!?]$/.test(message) ? message : `${message}.`;
  return path ? `${inWords(path.replace(/^(body|query)\./, ''))}: ${words}` : words;
};

/** What a program calls something, as a person would write it: NOT_PENDING, `study_ids.0`. */
export const inWords = (name: string): string => {
  const words = name.replaceAll(/[_.]+/g, ' ').trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};
