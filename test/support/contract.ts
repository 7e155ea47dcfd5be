import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { root } from './environment.js';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
  requestBody?: { content: Record<string, object> };
  'x-permissions'?: { roles: string[]; scope?: string; token_scope?: string };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: object;
}

/** The contract as it is committed. */
export const document: Document = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')) as Document;
const ajv = new Ajv2020({ strict: false, allErrors: true });
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

/** The template of the contract that a path belongs to. */
export const templateOf = (path: string): string | undefined =>
  templates.find(({ pattern }) => pattern.test(path))?.path;

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
  if (!operation.responses[status])
    throw new Error(`${key}: the contract does not name this status (${JSON.stringify(body).slice(0, 300)})`);
  if (!contentType.startsWith('application/json')) return;
  if (!validators.has(key)) {
    const schema = operation.responses[status].content?.['application/json']?.schema;
    validators.set(key, schema && ajv.compile({ ...schema, components: document.components }));
  }
  const validate = validators.get(key);
  if (validate && !validate(body))
    throw new Error(`${key}: the answer does not fit the contract: ${ajv.errorsText(validate.errors)}`);
}
