import type { Json } from './components.js';
import { schema30, typeOf } from './schema-3-0.js';

const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

const SECTIONS = ['schemas', 'parameters', 'headers', 'responses', 'requestBodies'];

/**
 * Converts an OpenAPI 3.1 document to 3.0.3, for programs that read no other. Requests and answers stay the same;
 * webhooks, unknown to 3.0, become `x-webhooks`. Names are made unique where those programs have one namespace:
 * components of several sections, parameters of an operation in several places.
 */
export const version30 = (document: Json): Json => new Translation(document).all();

const each = (record: unknown, convert: (value: Json) => unknown): Json =>
  Object.fromEntries(Object.entries((record ?? {}) as Json).map(([name, value]) => [name, convert(value as Json)]));

class Translation {
  /** New names of components whose name another section has too. */
  private readonly renamed: ReadonlyMap<string, string>;

  constructor(private readonly document: Json) {
    const renamed = new Map<string, string>();
    const taken = new Set<string>();
    for (const section of SECTIONS)
      for (const name of Object.keys((document.components as Record<string, Json> | undefined)?.[section] ?? {})) {
        if (taken.has(name)) renamed.set(`#/components/${section}/${name}`, `${name}${singular(section)}`);
        taken.add(name);
      }
    this.renamed = renamed;
  }

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
        Object.entries(components).map(([section, of]) => [
          section,
          converters[section] ? this.withNames(section, each(of, converters[section])) : of,
        ]),
      ),
      ...(pathItems !== undefined && { 'x-pathItems': each(pathItems, this.pathItem) }),
    };
  }

  private withNames(section: string, record: Json): Json {
    return Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        this.renamed.get(`#/components/${section}/${name}`) ?? name,
        value,
      ]),
    );
  }

  /** In 3.0 siblings of a reference are ignored: they are left out. */
  private orReference(convert: (value: Json) => Json): (value: Json) => Json {
    return (value) => {
      if (typeof value.$ref !== 'string') return convert(value);
      const name = this.renamed.get(value.$ref);
      return { $ref: name === undefined ? value.$ref : value.$ref.replace(/[^/]+$/, name) };
    };
  }

  private readonly schema = (schema: unknown): unknown => schema30(schema, this.typeAt);

  /** The type of a named schema; alternatives and nullable ones have no single type. */
  private readonly typeAt = (reference: string): string | undefined => {
    const { schemas } = this.document.components as { schemas: Record<string, Json> };
    const type = typeOf(schemas[reference.slice(reference.lastIndexOf('/') + 1)] ?? {});
    return typeof type === 'string' ? type : undefined;
  };

  private readonly mediaType = ({ schema, ...rest }: Json): unknown => ({
    ...rest,
    ...(schema !== undefined && { schema: this.schema(schema) }),
  });

  private readonly withContent = this.orReference(({ content, ...rest }) => ({
    ...rest,
    ...(content !== undefined && { content: each(content, this.mediaType) }),
  }));

  /** Also for headers, which are parameters without a name. */
  private readonly parameter = this.orReference(({ schema, ...rest }) => ({
    ...this.withContent(rest),
    ...(schema !== undefined && { schema: this.schema(schema) }),
  }));

  private readonly response = this.orReference(({ headers, ...rest }) => ({
    ...this.withContent(rest),
    ...(headers !== undefined && { headers: each(headers, this.parameter) }),
  }));

  private readonly callback = this.orReference((record) => each(record, this.pathItem));

  /** Without parameters that repeat a path parameter under the same name. */
  private once(parameters: Json[]): Json[] {
    const { parameters: shared = {} } = (this.document.components ?? {}) as { parameters?: Record<string, Json> };
    const meant = ({ $ref, ...own }: Json): Json =>
      typeof $ref === 'string' ? (shared[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}) : own;
    const path = new Set(parameters.map(meant).flatMap(({ name, in: place }) => (place === 'path' ? [name] : [])));
    return parameters.filter((parameter) => {
      const { name, in: place, required } = meant(parameter);
      return place === 'path' || required === true || !path.has(name);
    });
  }

  private readonly operation = ({ parameters, requestBody, responses, callbacks, ...rest }: Json): Json => ({
    ...rest,
    ...(parameters !== undefined && { parameters: toldApart(this.once(parameters as Json[]).map(this.parameter)) }),
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

/** responses as Response, requestBodies as RequestBody. */
const singular = (section: string): string =>
  `${section.charAt(0).toUpperCase()}${section.slice(1)}`.replace(/ies$/, 'y').replace(/s$/, '');

/** Parameters that differ only in their place get unique names, for Go. */
function toldApart(parameters: Json[]): Json[] {
  const plain = ({ name }: Json) =>
    String(name)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, '');
  return parameters.map((parameter, index) => {
    const again =
      parameter.name !== undefined && parameters.slice(index + 1).some((other) => plain(other) === plain(parameter));
    if (!again) return parameter;
    const words = [...String(parameter.name).split(/[^A-Za-z0-9]+/), String(parameter.in)];
    return { ...parameter, 'x-go-name': words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('') };
  });
}

/** In 3.0 a licence has a URL, no identifier; there is no summary. */
function infoOf({ summary: _summary, license, ...info }: Json): Json {
  const { identifier: _identifier, ...named } = (license ?? {}) as Json;
  return { ...info, ...(license !== undefined && { license: named }) };
}
