import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ANYWHERE } from '../../api/http/openapi/responses.js';
import { root } from './environment.js';

export interface Operation {
  operationId: string;
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
  requestBody?: { content: Record<string, object> };
  security: Record<string, unknown>[];
  parameters?: { name: string; in: string; schema: object }[];
  'x-permissions'?: { roles: string[]; scope?: string; token_scope?: string };
}
export interface Document {
  paths: Record<string, Record<string, Operation>>;
}

const written: unknown = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8'));

/** A part of the contract without references: each is replaced by what it refers to. */
function dereferenced(part: unknown, within: unknown): unknown {
  const known = new Map<string, unknown>();
  const at = (pointer: string): unknown =>
    pointer
      .slice(2)
      .split('/')
      .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], within);
  const look = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(look);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref: pointer, ...rest } = value as { $ref?: unknown };
    const fields = Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, look(item)]));
    if (typeof pointer !== 'string') return fields;
    if (!known.has(pointer)) known.set(pointer, look(at(pointer)));
    return { ...(known.get(pointer) as object), ...fields };
  };
  return look(part);
}
/** A whole document without references, and each operation with the security that it has from the document. */
export function whole(given: unknown): Document {
  const { security, ...document } = dereferenced(given, given) as Document & { security: Operation['security'] };
  for (const operations of Object.values(document.paths))
    for (const operation of Object.values(operations)) operation.security ??= security;
  return document;
}
/** The contract as it is committed, as a whole. */
export const document = whole(written);
// The contract's lint checks the schemas. Most are used a few times: shorter code takes longer to make than it saves.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } });
addFormats.default(ajv);
ajv.addFormat('time-zone', true);

// Fixed segments before parameters, as the service itself finds its routes.
const templates = Object.keys(document.paths)
  .map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    parameters: path.split('{').length,
  }))
  .sort((a, b) => a.parameters - b.parameters);
const validators = new Map<string, ValidateFunction | undefined>();
/** Of the same schema there is one: of what operations answer, five in six are errors. */
const compiledSchemas = new Map<string, ValidateFunction>();
function validatorOf(schema: object): ValidateFunction {
  const text = JSON.stringify(schema);
  const known = compiledSchemas.get(text) ?? ajv.compile(schema);
  compiledSchemas.set(text, known);
  return known;
}

/** The template of the contract that a path belongs to. */
export const templateOf = (path: string): string | undefined =>
  templates.find(({ pattern }) => pattern.test(path))?.path;

/** What an operation does not declare for itself and may answer all the same: `default`. */
function anywhere({ security, responses }: Operation, status: number): Operation['responses'][string] | undefined {
  const asksForToken = security.length > 0;
  return ANYWHERE.includes(status) && (asksForToken || (status !== 401 && status !== 403))
    ? responses.default
    : undefined;
}

/**
 * Holds an answer against the committed contract: every answer that any test gets is checked.
 * @throws Error naming the operation and what does not fit
 */
export function holdAgainstContract(
  method: string,
  path: string,
  status: number,
  contentType: string,
  body: unknown,
): void {
  const template = templateOf(path);
  const operation = template && document.paths[template]![method.toLowerCase()];
  if (!operation || status === 204 || status === 304) return;
  const key = `${method} ${template} ${status}`;
  const declared = operation.responses[status] ?? anywhere(operation, status);
  if (!declared)
    throw new Error(`${key}: the contract does not name this status (${JSON.stringify(body).slice(0, 300)})`);
  const type = contentType.split(';', 1)[0]!.trim();
  if (status < 300 && type !== '' && declared.content?.[type] === undefined)
    throw new Error(`${key}: the contract does not name ${type}`);
  if (type !== 'application/json') return;
  if (!validators.has(key)) {
    const schema = declared.content?.['application/json']?.schema;
    validators.set(key, schema && validatorOf(schema));
  }
  const validate = validators.get(key);
  if (validate && !validate(body))
    throw new Error(`${key}: the answer does not fit the contract: ${ajv.errorsText(validate.errors)}`);
}
