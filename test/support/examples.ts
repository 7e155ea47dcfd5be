import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { document, templateOf } from './contract.js';

/** A call as it was made and answered; the operations of the contract each have one. */
export interface Example {
  operationId: string;
  request: Said & { path: string };
  response: Said & { status: number };
}
/** JSON as `body`; anything else by its type, and a text by its beginning. */
interface Said {
  body?: unknown;
  type?: string;
  text?: string;
  /** The name under which a file is downloaded. */
  file?: string;
}

/** Where examples are collected (`npm run examples`); without it nothing is. */
const folder = process.env.EXAMPLES_DIR;
const best = new Map<string, Example>();
const LARGE = 2_500;
/** How much of a text is shown. */
const BEGINNING = 700;

/** What nobody else may have: shown by its length alone. */
const SECRET =
  /password|token|^ticket$|secret|authorization$|^code$|recovery_codes|otpauth|^url$|p256dh|^auth$|api_key|signature/i;
const masked = (text: string): string => text.slice(0, 4) + text.slice(4).replaceAll(/[A-Za-z0-9]/g, 'x');

/** A copy without secrets, and of each list the first two. */
function shown(value: unknown, isSecret = false): unknown {
  if (Array.isArray(value)) return value.slice(0, 2).map((item) => shown(item, isSecret));
  if (typeof value === 'string') return isSecret ? masked(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  // Of a record each field is judged by its own name.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      shown(item, SECRET.test(key) && !/^(token_type|code|.*_until)$/.test(key)),
    ]),
  );
}

/** The more an answer says, the better, up to what is read at one glance. */
const worth = ({ response }: Example): number => {
  const size = JSON.stringify(response.body ?? response.text ?? response.type ?? '').length;
  return size <= LARGE ? size : -size;
};

const TOKENS = /((?:token|signature|ticket)=)[^&"'\s<>]+/g;

/** What is sent or answered and is no JSON: a text shows its beginning, another file says what it is. */
export function beginning(type: string, content: string | Uint8Array, disposition?: string | null): Said {
  const file = /filename="([^"]+)"/.exec(disposition ?? '')?.[1];
  const isText = typeof content === 'string' && /^text\/|json|svg|form-urlencoded|rfc822|pem/.test(type);
  const shownText = isText ? content.replaceAll(TOKENS, '$1xxxx') : undefined;
  return {
    type: type.replace(/;.*/, ''),
    ...(shownText !== undefined && {
      text: shownText.length > BEGINNING ? `${shownText.slice(0, BEGINNING)} …` : shownText,
    }),
    ...(file !== undefined && { file }),
  };
}

/** JSON as it is shown; what was said in another way is ready. */
const saidIn = (said: Said): Said => ({ ...said, ...(said.body !== undefined && { body: shown(said.body) }) });

/** Keeps a call that succeeded, if it is the best of its operation. `said` is asked only where calls are collected. */
export function collect(
  method: string,
  url: string,
  status: number,
  said: () => { given: Said; answered: Said },
): void {
  if (folder === undefined || status < 200 || status >= 300) return;
  const { pathname, search } = new URL(url, 'http://service');
  const template = templateOf(pathname);
  const operation = template && document.paths[template]![method.toLowerCase()];
  if (!operation) return;
  const { given, answered } = said();
  const example: Example = {
    operationId: operation.operationId,
    request: {
      path: `${pathname}${search.replaceAll(TOKENS, '$1xxxx')}`,
      ...saidIn(given),
    },
    response: { status, ...saidIn(answered) },
  };
  const known = best.get(example.operationId);
  if (known && worth(known) >= worth(example)) return;
  best.set(example.operationId, example);
  // At once: a process of tests ends in many ways.
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify([...best.values()]));
}
