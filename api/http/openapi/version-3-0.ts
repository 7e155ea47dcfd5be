import type { Json } from './components.js';
import { schema30 } from './schema-3-0.js';

const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

/**
 * A document of OpenAPI 3.1 as one of 3.0.3, for programs that read no other. It says the same of requests and answers;
 * webhooks, which 3.0 does not know, stand under `x-webhooks`.
 */
export const version30 = (document: Json): Json => new Translation(document).all();

const each = (of: unknown, convert: (value: Json) => unknown): Json =>
  Object.fromEntries(Object.entries((of ?? {}) as Json).map(([name, value]) => [name, convert(value as Json)]));

class Translation {
  constructor(private readonly document: Json) {}

  all(): Json {
    const {
      openapi: _version,
      jsonSchemaDialect: _dialect,
      info,
      paths,
      webhooks,
      components,
      ...rest
    } = this.document;
    return {
      openapi: '3.0.3',
      info: infoOf(info as Json),
      ...rest,
      paths: each(paths, this.pathItem),
      ...(components !== undefined && { components: this.components(components as Json) }),
      ...(webhooks !== undefined && { 'x-webhooks': each(webhooks, this.pathItem) }),
    };
  }

  private components({ pathItems, ...components }: Json): Json {
    const converters: Record<string, (value: Json) => unknown> = {
      schemas: this.schema,
      parameters: this.parameter,
      headers: this.parameter,
      responses: this.response,
      requestBodies: this.withContent,
      callbacks: this.callback,
    };
    return {
      ...Object.fromEntries(
        Object.entries(components).map(([name, of]) => [name, converters[name] ? each(of, converters[name]) : of]),
      ),
      ...(pathItems !== undefined && { 'x-pathItems': each(pathItems, this.pathItem) }),
    };
  }

  private readonly schema = (schema: unknown): unknown => schema30(schema, this.typeAt);

  /** The type of a named schema; of alternatives or of one that may be null itself there is none to name. */
  private readonly typeAt = (reference: string): string | undefined => {
    const { schemas } = this.document.components as { schemas: Record<string, Json> };
    const type = schemas[reference.slice(reference.lastIndexOf('/') + 1)]?.type;
    return typeof type === 'string' ? type : undefined;
  };

  private readonly mediaType = ({ schema, ...rest }: Json): unknown => ({
    ...rest,
    ...(schema !== undefined && { schema: this.schema(schema) }),
  });

  private readonly withContent = orReference(({ content, ...rest }) => ({
    ...rest,
    ...(content !== undefined && { content: each(content, this.mediaType) }),
  }));

  /** Of headers too, which are parameters without a name. */
  private readonly parameter = orReference(({ schema, ...rest }) => ({
    ...this.withContent(rest),
    ...(schema !== undefined && { schema: this.schema(schema) }),
  }));

  private readonly response = orReference(({ headers, ...rest }) => ({
    ...this.withContent(rest),
    ...(headers !== undefined && { headers: each(headers, this.parameter) }),
  }));

  private readonly callback = orReference((of) => each(of, this.pathItem));

  private readonly operation = ({ parameters, requestBody, responses, callbacks, ...rest }: Json): Json => ({
    ...rest,
    ...(parameters !== undefined && { parameters: (parameters as Json[]).map(this.parameter) }),
    ...(requestBody !== undefined && { requestBody: this.withContent(requestBody as Json) }),
    responses: each(responses, this.response),
    ...(callbacks !== undefined && { callbacks: each(callbacks, this.callback) }),
  });

  private readonly pathItem = (item: Json): Json =>
    Object.fromEntries(
      Object.entries(item).map(([key, value]) => [
        key,
        METHODS.has(key)
          ? this.operation(value as Json)
          : key === 'parameters'
            ? (value as Json[]).map(this.parameter)
            : value,
      ]),
    );
}

/** Beside a reference nothing counts in 3.0: its words are left out. */
function orReference(convert: (value: Json) => Json): (value: Json) => Json {
  return (value) => (typeof value.$ref === 'string' ? { $ref: value.$ref } : convert(value));
}

/** A licence has an address there, no identifier; a summary of the whole is not known. */
function infoOf({ summary: _summary, license, ...info }: Json): Json {
  const { identifier: _identifier, ...named } = (license ?? {}) as Json;
  return { ...info, ...(license !== undefined && { license: named }) };
}
