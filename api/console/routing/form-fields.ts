import { Problem, problem } from '../../http/errors.js';

/** The default size limit of a form. */
export const FORM_BYTES = 256 * 1024;
/** More than any form of the console has. */
const MAX_FIELDS = 2_000;

const PLUS = 43,
  BLANK = 32;
/** A request's form is read by its transaction, its handler, and the error page. */
const read = new WeakMap<Buffer, URLSearchParams>();

/**
 * Parses a submitted form. The engine's own parser is slow for malicious input: a megabyte of plus signs takes an
 * eighth of a second.
 * @throws 413 for more fields than any form has
 */
export function formOf(raw: Buffer): URLSearchParams {
  let form = read.get(raw);
  if (!form) read.set(raw, (form = fieldsOf(raw)));
  return form;
}

function fieldsOf(raw: Buffer): URLSearchParams {
  let fields = 1;
  for (let at = raw.indexOf('&'); at >= 0; at = raw.indexOf('&', at + 1)) {
    fields += 1;
    if (fields > MAX_FIELDS) throw problem('TOO_LARGE', { detail: `The form has more than ${MAX_FIELDS} fields.` });
  }
  const spaced = Buffer.from(raw);
  for (let i = 0; i < spaced.length; i += 1) if (spaced[i] === PLUS) spaced[i] = BLANK;
  const form = new URLSearchParams();
  for (const field of spaced.toString('utf8').split('&')) {
    if (field === '') continue;
    const at = field.indexOf('=');
    form.append(decoded(at < 0 ? field : field.slice(0, at)), at < 0 ? '' : withoutReturns(field.slice(at + 1)));
  }
  return form;
}

/** The same for displaying a form again: one with too many fields is empty. */
export function formToShow(raw: Buffer): URLSearchParams {
  try {
    return formOf(raw);
  } catch (fault) {
    if (fault instanceof Problem) return new URLSearchParams();
    throw fault;
  }
}

/** Browsers send a line end as two characters, count one, and keep one: what was typed is as long as they said. */
const withoutReturns = (text: string): string => decoded(text).replaceAll('\r\n', '\n');

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (fault) {
    // No browser sends it: invalid escapes stay as they are.
    if (fault instanceof URIError) return text;
    throw fault;
  }
}
