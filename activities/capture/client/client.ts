import type { FieldFault } from '../../../workflows/domain/capture/push-record.js';
import { CaptureFailure } from './failure.js';
import { postForm } from './http.js';
import { faultsOf, redactValues } from './redact.js';
import type { HttpAnswer, PostOptions } from './http.js';

export interface CaptureAccess {
  apiUrl: string;
  token: string;
  allowPrivate: boolean;
}
export type CaptureRow = Record<string, unknown>;

export interface RecordFilter {
  records?: readonly string[];
  fields?: readonly string[];
  forms?: readonly string[];
  events?: readonly string[];
  /** `YYYY-MM-DD HH:MM:SS` in the capture system's local time. */
  dateRangeBegin?: string;
  dateRangeEnd?: string;
  /** With the times of surveys; default false. */
  surveyTimes?: boolean;
}

/** An address is banned for good (429): no call helps. */
const BANNED = /\bbanned\b/i;
const TOO_MANY = 429;
/** What a ban says whose words are no JSON. */
const BAN = { error: 'This address has been banned.' };

/** When a project may be called again, in milliseconds of the monotonic clock. */
const limited = new Map<string, number>();

function tooMany(status: number, limitedMs: number, said?: string): CaptureFailure {
  const when = limitedMs === 0 ? 'later' : `after ${Math.ceil(limitedMs / 1000)} s`;
  return new CaptureFailure(
    'http_error',
    `The capture system asks to be called less often (${status}), and is called again ${when}${quoted(said)}`,
    { status, limitedMs, said },
  );
}

/** The end of a sentence that quotes the capture system, if it has said something. */
const quoted = (said: string | undefined): string => (said === undefined ? '.' : `: ${said}`);

const LIMITS = { timeoutMs: 60_000, maxBytes: 64 * 1024 * 1024 } satisfies Omit<PostOptions, 'allowPrivate'>;
export interface ClientLimits {
  /** For one call. */
  timeoutMs?: number;
  maxBytes?: number;
  /** For all calls together: when the caller times out, milliseconds of the monotonic clock. */
  until?: number;
}
type Value = string | readonly string[] | undefined;

/**
 * The API client of a project in a REDCap-like capture system. Its answers are not trusted; every failure is a
 * CaptureFailure.
 */
export class CaptureClient {
  constructor(
    private readonly access: CaptureAccess,
    private readonly limits: ClientLimits = {},
  ) {}

  /** Rows of records, flat and raw; every value as text. Record ids are text of any kind. */
  exportRecords({ surveyTimes = false, ...filter }: RecordFilter): Promise<CaptureRow[]> {
    return this.rows('record', {
      type: 'flat',
      rawOrLabel: 'raw',
      rawOrLabelHeaders: 'raw',
      exportCheckboxLabel: 'false',
      exportSurveyFields: String(surveyTimes),
      exportDataAccessGroups: 'true',
      ...filter,
    });
  }

  /** Writes rows. @returns the number of distinct records. */
  async importRecords(
    rows: readonly CaptureRow[],
    options: { overwriteBehavior?: 'normal' | 'overwrite' } = {},
  ): Promise<number> {
    const answer = await this.call('record', {
      type: 'flat',
      overwriteBehavior: options.overwriteBehavior ?? 'normal',
      returnContent: 'count',
      dateFormat: 'YMD',
      forceAutoNumber: 'false',
      data: JSON.stringify(rows),
    });
    const count = typeof answer === 'object' && answer !== null ? Number((answer as { count?: unknown }).count) : NaN;
    if (!Number.isInteger(count))
      throw new CaptureFailure('invalid_response', 'The capture system did not say how many records it imported.');
    return count;
  }

  /** The data dictionary, or its fields of some forms. */
  metadata(forms?: readonly string[]): Promise<CaptureRow[]> {
    return this.rows('metadata', forms ? { forms } : {});
  }
  instruments(): Promise<CaptureRow[]> {
    return this.rows('instrument', {});
  }
  /** Events of a longitudinal project; a classic one refuses the call. */
  events(): Promise<CaptureRow[]> {
    return this.rows('event', {});
  }

  /** The instruments of each event. */
  formEventMapping(): Promise<CaptureRow[]> {
    return this.rows('formEventMapping', {});
  }
  /** Repeating instruments and events; a project without any refuses the call. */
  repeatingFormsEvents(): Promise<CaptureRow[]> {
    return this.rows('repeatingFormsEvents', {});
  }

  async project(): Promise<CaptureRow> {
    const answer = await this.call('project', {});
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
      throw new CaptureFailure('invalid_response', 'The capture system did not describe its project.');
    }
    return answer as CaptureRow;
  }

  private async rows(content: string, parameters: Record<string, Value>): Promise<CaptureRow[]> {
    const answer = await this.call(content, parameters);
    if (!Array.isArray(answer) || answer.some((row) => typeof row !== 'object' || row === null || Array.isArray(row))) {
      throw new CaptureFailure('invalid_response', `The capture system did not answer with a list (${content}).`);
    }
    return answer as CaptureRow[];
  }

  private async call(content: string, parameters: Record<string, Value>): Promise<unknown> {
    const form = new URLSearchParams({ token: this.access.token, content, format: 'json', returnFormat: 'json' });
    for (const [name, value] of Object.entries(parameters)) {
      if (typeof value === 'string') form.set(name, value);
      else value?.forEach((item, index) => form.set(`${name}[${index}]`, item));
    }
    this.assertNotLimited();
    const { until = Infinity, timeoutMs = LIMITS.timeoutMs, maxBytes = LIMITS.maxBytes } = this.limits;
    const answer = await postForm(this.access.apiUrl, form, {
      maxBytes,
      timeoutMs: Math.max(1, Math.min(timeoutMs, until - performance.now())),
      allowPrivate: this.access.allowPrivate,
    });
    const parsed = this.read(answer);
    limited.delete(this.key);
    return parsed;
  }

  /** The JSON of an answer. @throws CaptureFailure for any other content */
  private read(answer: HttpAnswer): unknown {
    const { status } = answer;
    if (status >= 300 && status < 400)
      throw new CaptureFailure(
        'invalid_response',
        `The capture system redirects elsewhere (${status}): check api_url.`,
      );
    if (status === 408) throw new CaptureFailure('timeout', 'The capture system gave up on the request (408).');
    const parsed = status >= 500 ? undefined : parseJson(answer.body);
    const later = this.limitOf(answer, parsed);
    if (later) throw later;
    if (status >= 500) throw new CaptureFailure('http_error', `The capture system answered ${status}.`);
    // It refuses in JSON: a page is of a web server or proxy in front of it, which is being updated. So is a 404 in a
    // word, as proxies say that nothing is behind them.
    const isProxy = isPage(answer) || (status === 404 && parsed === undefined);
    if (status >= 400 && ![401, 403, TOO_MANY].includes(status) && isProxy)
      throw new CaptureFailure(
        'invalid_response',
        `The capture system answered with a web page (${status}): maintenance, or api_url is wrong.`,
      );
    const said = this.saidIn(parsed ?? (status === TOO_MANY ? BAN : undefined));
    if (status >= 400)
      throw new CaptureFailure('rejected', `The capture system refused (${status})${quoted(said)}`, {
        status,
        said,
        faults: this.faultsIn(parsed),
      });
    if (status !== 200) throw new CaptureFailure('invalid_response', `The capture system answered ${status}.`);
    if (parsed === undefined) throw new CaptureFailure('invalid_response', notJson(answer));
    // Names and codes would be stored with wrong letters.
    if (answer.garbled)
      throw new CaptureFailure(
        'invalid_response',
        'The capture system did not answer in UTF-8, nor in the character set that its answer names.',
      );
    // 200 and {"error": …}: it failed after its first byte was sent, so it is not a deliberate refusal.
    if (hasError(parsed))
      throw new CaptureFailure('invalid_response', `The capture system answered with an error${quoted(said)}`, {
        said,
      });
    return parsed;
  }

  /** A question of a person is asked nevertheless: the limit may have been lifted. @throws CaptureFailure */
  private assertNotLimited(): void {
    const leftMs = (limited.get(this.key) ?? 0) - performance.now();
    if (leftMs > 0 && this.limits.until === undefined) throw tooMany(TOO_MANY, Math.ceil(leftMs));
  }

  private get key(): string {
    return `${this.access.apiUrl}\0${this.access.token}`;
  }

  /**
   * A request to call less often, or later (429, 503 with Retry-After): it is waited for. Undefined: none, or a ban
   * without an end, where another call would be one more.
   */
  private limitOf({ status, body, retryAfterSeconds }: HttpAnswer, parsed: unknown): CaptureFailure | undefined {
    if (status !== TOO_MANY && (status !== 503 || retryAfterSeconds === undefined)) return undefined;
    if (retryAfterSeconds === undefined && BANNED.test(hasError(parsed) ? parsed.error : body)) return undefined;
    const limitedMs = Math.ceil((retryAfterSeconds ?? 0) * 1000);
    if (limited.size >= 1_000) limited.clear();
    if (limitedMs > 0) limited.set(this.key, performance.now() + limitedMs);
    return tooMany(status, limitedMs, this.saidIn(parsed));
  }

  /**
   * The capture system's own words, shortened and without possible tokens, and without records and values where it
   * lists them.
   */
  private saidIn(answer: unknown): string | undefined {
    if (!hasError(answer)) return undefined;
    const clean = this.clean(redactValues(answer.error));
    return clean.length > 300 ? `${clean.slice(0, 300)}…` : clean;
  }

  private faultsIn(said: unknown): FieldFault[] {
    return hasError(said) ? faultsOf(said.error).map(({ field, rule }) => ({ field, rule: this.clean(rule) })) : [];
  }

  private clean(text: string): string {
    // The database takes no NUL.
    return text
      .replaceAll(this.access.token, '…')
      .replace(/\b[0-9A-Fa-f]{32,}\b/g, '…')
      .replace(/<[^>]*>/g, ' ')
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim();
  }
}

function parseJson(text: string): unknown {
  // A byte order mark is not part of the JSON, nor is one behind blanks, or a further one.
  const json = withoutHalves(text.trim());
  for (const each of [() => json, () => withoutControls(json)])
    try {
      return JSON.parse(each());
    } catch {
      // No JSON, or with control characters as they were pasted into a note: the next reading escapes them.
    }
  return undefined;
}

const STRINGS = /"[^"\\]*(?:\\[^][^"\\]*)*"/g;
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0000-\u001f]/g;

/** A JSON text whose strings have control characters, escaped as JSON wants it. */
const withoutControls = (json: string): string =>
  json.replace(STRINGS, (string) => string.replace(CONTROLS, (sign) => JSON.stringify(sign).slice(1, -1)));

const ESCAPES = /\\u(d[89ab][0-9a-f]{2})(\\ud[c-f][0-9a-f]{2})?|\\u(d[c-f][0-9a-f]{2})|\\[^]/gi;

/**
 * A JSON text without halves of letters, as they stay of a text that was cut in the middle of an emoji: the database
 * takes no such text.
 */
const withoutHalves = (json: string): string =>
  /\\ud[89a-f]/i.test(json)
    ? json.replace(ESCAPES, (escape, high?: string, rest?: string, low?: string) =>
        (high !== undefined && rest === undefined) || low !== undefined ? '\\ufffd' : escape,
      )
    : json;

const hasError = (value: unknown): value is { error: string } =>
  typeof value === 'object' && value !== null && typeof (value as { error?: unknown }).error === 'string';

const beginningOf = ({ body }: HttpAnswer): string => body.trimStart().slice(0, 200).toLowerCase();
const isPage = (answer: HttpAnswer): boolean =>
  /^<(!doctype html|html|head|body|div|br|b>|p>)/.test(beginningOf(answer)) ||
  (answer.contentType.includes('text/html') && parseJson(answer.body) === undefined);

function notJson(answer: HttpAnswer): string {
  const start = beginningOf(answer);
  if (isPage(answer)) return 'The capture system answered with a web page instead of JSON (maintenance?).';
  if (start.startsWith('<')) return 'The capture system answered with XML instead of JSON.';
  if (start === '') return 'The capture system gave an empty answer.';
  return 'The capture system did not answer with JSON, or broke off in the middle of it.';
}
