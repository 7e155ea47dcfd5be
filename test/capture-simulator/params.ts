import { ApiError, errorFormat, isFormat, type Format } from './formats.js';

/** The parameters of one API call; a list comes as `records[0]=`, `records[]=` or a comma list. */
export class Params {
  readonly #values = new Map<string, string>();
  readonly #lists = new Map<string, { index: number; value: string }[]>();

  constructor(pairs: Iterable<readonly [string, string]>) {
    let arrival = 0;
    for (const [key, value] of pairs) {
      const list = /^(\w+)\[(\d*)\]$/.exec(key);
      if (list?.[1] === undefined) {
        this.#values.set(key, value);
        continue;
      }
      const entries = this.#lists.get(list[1]) ?? [];
      entries.push({ index: list[2] ? Number(list[2]) : (arrival += 1), value });
      this.#lists.set(list[1], entries);
    }
  }

  text(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** `1`, `true` and `True` (as Python writes it) are true. */
  flag(name: string): boolean {
    return ['1', 'true'].includes((this.#values.get(name) ?? '').toLowerCase());
  }

  /** Undefined where the parameter is absent or has only empty values: then it restricts nothing. */
  list(name: string): string[] | undefined {
    const entries = this.#lists.get(name);
    const values = entries
      ? [...entries].sort((a, b) => a.index - b.index).map((entry) => entry.value)
      : (this.#values.get(name)?.split(',') ?? []);
    const filled = values.filter((value) => value !== '');
    return filled.length > 0 ? filled : undefined;
  }

  /** The format of the data; the default is xml. */
  format(): Format {
    const format = this.text('format') ?? 'xml';
    if (!isFormat(format)) throw new ApiError(400, 'The value of the parameter "format" is not valid');
    return format;
  }

  /** The format of errors and of what an import answers. */
  answerFormat(): Format {
    return errorFormat(this.text('returnFormat'), this.text('format'));
  }

  delimiter(): string {
    const asked = this.text('csvDelimiter') ?? ',';
    return asked === 'tab' ? '\t' : asked.slice(0, 1) || ',';
  }

  /** What may be shown of a call: never the token, and of data only its length. */
  shown(): Record<string, string | string[]> {
    const shown: Record<string, string | string[]> = {};
    for (const [key, value] of this.#values) {
      if (key === 'data') shown[key] = `${value.length} characters`;
      else if (key !== 'token') shown[key] = value;
    }
    for (const key of this.#lists.keys()) {
      if (key !== 'token' && key !== 'data') shown[key] = this.list(key) ?? [];
    }
    return shown;
  }
}
