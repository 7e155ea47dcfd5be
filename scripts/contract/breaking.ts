import { isObject, resolver } from './alternatives.js';
import type { Json, Resolve } from './alternatives.js';
import { Comparison } from './fits.js';
import type { Break, Rule } from './fits.js';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
interface Document {
  json: Json;
  resolve: Resolve;
}
interface Operation {
  before: Json;
  now: Json;
  at: string;
}

/**
 * Changes of a contract that break callers of an earlier one: both are OpenAPI documents, with or without references.
 * Additions break nobody: operations, optional parameters and fields, fields of answers, values of an answer's enum.
 */
export function breakingChanges(before: Json, now: Json): Break[] {
  return new ContractComparison(before, now).all();
}

class ContractComparison {
  private readonly base: Document;
  private readonly next: Document;
  private readonly requests = new Comparison('request');
  private readonly answers = new Comparison('answer');
  private readonly breaks: Break[] = [];

  constructor(before: Json, now: Json) {
    this.base = { json: before, resolve: resolver(before) };
    this.next = { json: now, resolve: resolver(now) };
  }

  all(): Break[] {
    for (const { before, now, at } of this.operations('paths', 'operation-removed')) {
      if (before.operationId !== now.operationId)
        this.broken('operation-id-changed', at, `${String(before.operationId)} is ${String(now.operationId)} now`);
      this.security(before, now, at);
      this.parameters({ before, now, at });
      this.body({ before, now, at }, this.requests);
      this.responses({ before, now, at });
    }
    // Requests sent by the service are like answers for their receivers.
    for (const operation of this.operations('webhooks', 'webhook-removed')) this.body(operation, this.answers);
    return this.breaks;
  }

  private broken(rule: Rule, at: string, message: string): void {
    this.breaks.push({ rule, at, message });
  }

  /** The operations in both; removed ones are recorded. Names of path parameters may change. */
  private operations(of: 'paths' | 'webhooks', gone: Rule): Operation[] {
    const found: Operation[] = [];
    const unnamed = (path: string) => path.replaceAll(/\{[^}]+\}/g, '{}');
    const present = new Map(Object.entries(record(this.next.json[of])).map(([path, item]) => [unnamed(path), item]));
    for (const [path, item] of Object.entries(record(this.base.json[of])))
      for (const [method, before] of Object.entries(record(item))) {
        if (!METHODS.includes(method)) continue;
        const at = `${method.toUpperCase()} ${path}`;
        const now = record(present.get(unnamed(path)))[method];
        if (isObject(now)) found.push({ before: record(before), now, at });
        else this.broken(gone, at, 'is not there any more');
      }
    return found;
  }

  /** Each former security scheme must still be accepted. */
  private security(before: Json, now: Json, at: string): void {
    const ways = (of: Json): string[] | undefined =>
      (of.security as Json[] | undefined)?.map((way) => Object.keys(way).sort().join('+'));
    const [were, are] = [ways(before) ?? [], ways(now) ?? []];
    if (are.length === 0) return;
    const gone = were.length === 0 ? ['no credential'] : were.filter((way) => !are.includes(way));
    if (gone.length > 0) this.broken('security-narrowed', at, `${gone.join(', ')} was enough`);
  }

  private parameters({ before, now, at }: Operation): void {
    const of = (operation: Json, resolve: Resolve) =>
      new Map(
        ((operation.parameters as unknown[] | undefined) ?? []).map((one) => {
          const parameter = record(resolve(one));
          const name = String(parameter.name);
          // Names of path parameters only matter in the document; headers are case-insensitive.
          const key = parameter.in === 'header' ? name.toLowerCase() : name;
          return [`${String(parameter.in)} ${key}`, parameter] as const;
        }),
      );
    const [were, are] = [of(before, this.base.resolve), of(now, this.next.resolve)];
    for (const [key, parameter] of were) {
      const present = are.get(key);
      if (!present) {
        if (parameter.in !== 'path') this.broken('parameter-removed', `${at} ${key}`, 'is not taken any more');
        continue;
      }
      if (present.required === true && parameter.required !== true)
        this.broken('parameter-required', `${at} ${key}`, 'is required now');
      this.schemas(parameter.schema, present.schema, `${at} ${key}`, this.requests);
    }
    for (const [key, parameter] of are)
      if (!were.has(key) && parameter.required === true && parameter.in !== 'path')
        this.broken('parameter-required', `${at} ${key}`, 'is new and required');
  }

  private body({ before, now, at }: Operation, comparison: Comparison): void {
    const [was, is] = [record(this.base.resolve(before.requestBody)), record(this.next.resolve(now.requestBody))];
    if (is.required === true && was.required !== true) this.broken('body-required', at, 'a body is required now');
    if (!isObject(was.content)) return;
    if (!isObject(is.content)) return this.broken('body-removed', at, 'no body is taken any more');
    this.contents(was.content, is.content, `${at} body`, comparison);
  }

  private responses({ before, now, at }: Operation): void {
    const present = record(now.responses);
    for (const [status, given] of Object.entries(record(before.responses))) {
      // An unlisted error is covered by the default answer of any operation.
      const answer = present[status] ?? (Number(status) >= 400 ? present.default : undefined);
      if (answer === undefined) {
        this.broken('status-removed', `${at} ${status}`, 'is not answered any more');
        continue;
      }
      const [was, is] = [record(this.base.resolve(given)), record(this.next.resolve(answer))];
      const headers = new Set(Object.keys(record(is.headers)).map((name) => name.toLowerCase()));
      for (const name of Object.keys(record(was.headers)))
        if (!headers.has(name.toLowerCase()))
          this.broken('header-removed', `${at} ${status} ${name}`, 'is not sent any more');
      this.contents(record(was.content), record(is.content), `${at} ${status}`, this.answers);
    }
  }

  private contents(were: Json, are: Json, at: string, comparison: Comparison): void {
    for (const [type, given] of Object.entries(were)) {
      const present = are[type];
      if (!isObject(present)) this.broken('media-type-removed', `${at} ${type}`, 'is not there any more');
      else this.schemas(record(given).schema, present.schema, at, comparison);
    }
  }

  private schemas(was: unknown, is: unknown, at: string, comparison: Comparison): void {
    this.breaks.push(
      ...comparison.compare(
        { schema: was, resolve: this.base.resolve },
        { schema: is, resolve: this.next.resolve },
        at,
      ),
    );
  }
}

const record = (value: unknown): Json => (isObject(value) ? value : {});
