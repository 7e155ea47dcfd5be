import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from 'typebox';

export type Json = Record<string, unknown>;
type Section = 'schemas' | 'parameters' | 'headers' | 'responses';

/** Our own keywords, without meaning to others. */
const OURS = ['$id', 'x-instant', 'x-nfc', 'x-trimmed', 'x-visible', 'x-of', 'x-shown', 'x-parameter'];
/** Keywords that belong to a place of use, not to the definition. */
const ANNOTATIONS = ['description', 'default', 'deprecated', 'x-extension', 'examples'];
const ANY_KEY = '^.*$';

/** Components that the document defines once and references elsewhere. */
export class Components {
  private readonly sections: Record<Section, Record<string, unknown>> = {
    schemas: {},
    parameters: {},
    headers: {},
    responses: {},
  };

  /** A schema for the document: named ones become references. */
  schema(schema: TSchema): Json {
    return this.shown(schema) as Json;
  }

  /** A reference to a named component, which it defines. @throws Error if the name has another definition */
  refer(section: Section, name: string, content: unknown): Json {
    const known = this.sections[section][name];
    if (known !== undefined && !isDeepStrictEqual(known, content)) throw new Error(`two ${section} are called ${name}`);
    this.sections[section][name] ??= content;
    return { $ref: `#/components/${section}/${name}` };
  }

  /** All components, by name. */
  all(): Record<Section, Json> {
    const sorted = (section: Section) =>
      Object.fromEntries(Object.entries(this.sections[section]).sort(([a], [b]) => (a < b ? -1 : 1)));
    return {
      schemas: sorted('schemas'),
      parameters: sorted('parameters'),
      headers: sorted('headers'),
      responses: sorted('responses'),
    };
  }

  private shown(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.shown(item));
    if (typeof value !== 'object' || value === null) return value;
    const { $id: name, 'x-of': definition, 'x-shown': instead } = value as Json;
    if (definition !== undefined) return this.inRole(value as Json, definition);
    if (typeof name !== 'string') return instead === undefined ? this.plain(value as Json) : this.shown(instead);
    return this.refer('schemas', name, this.plain((instead ?? value) as Json));
  }

  /** A definition in a role of its own (`about`, `nullable`, `extension`): with another description, or also null. */
  private inRole(derived: Json, definition: unknown): Json {
    const reference = this.shown(definition) as Json;
    const said = Object.fromEntries(
      ANNOTATIONS.filter((key) => key in derived && derived[key] !== (definition as Json)[key]).map((key) => [
        key,
        derived[key],
      ]),
    );
    return mayBeNull(derived) ? { anyOf: [reference, { type: 'null' }], ...said } : { ...reference, ...said };
  }

  /** Without our own keywords, and in the keywords of JSON Schema that client generators know. */
  private plain(schema: Json): Json {
    const result: Json = {};
    if (Array.isArray(schema.enum) && mayBeNull(schema)) return this.wordsOrNull(schema);
    for (const [key, item] of Object.entries(schema)) {
      if (OURS.includes(key) || item === undefined) continue;
      if (key === 'properties')
        result.properties = Object.fromEntries(
          Object.entries(item as Json).map(([name, property]) => [name, this.shown(property)]),
        );
      else if (key === 'patternProperties' && Object.keys(item as Json).join() === ANY_KEY)
        result.additionalProperties = this.shown((item as Json)[ANY_KEY]);
      else result[key] = this.shown(item);
    }
    return result;
  }

  /** Words and null as two alternatives: as one list they become an enum of mixed types in many languages. */
  private wordsOrNull({ description, ...schema }: Json): Json {
    const words = (schema.enum as unknown[]).filter((word) => word !== null);
    const plain = this.plain({ ...schema, ...(schema.type !== undefined && { type: 'string' }), enum: words });
    return { anyOf: [plain, { type: 'null' }], ...(description !== undefined && { description }) };
  }
}

const mayBeNull = ({ type, enum: words }: Json): boolean =>
  Array.isArray(type) ? type.includes('null') : Array.isArray(words) && words.includes(null);
