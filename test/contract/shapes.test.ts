import { expect } from 'chai';
import { openapi } from '../../api/http/openapi/document.js';
import { documentedRoutes } from '../../api/routes.js';

type Json = Record<string, unknown>;
interface Operation extends Json {
  operationId: string;
  description?: string;
  parameters?: Json[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { content?: Record<string, { schema: Json }> }>;
}
interface Contract {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; parameters: Record<string, Json> };
}

const contract = openapi(documentedRoutes) as unknown as Contract;
const operations = Object.values(contract.paths).flatMap((path) => Object.values(path));

/** Every schema and part of one in a value, with the way to it. */
function* partsOf(value: unknown, way: string[] = []): Generator<{ part: Json; way: string[] }> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield { part: value as Json, way };
  for (const [key, item] of Object.entries(value)) yield* partsOf(item, [...way, key]);
}
const parts = [...partsOf(contract)];
const where = (found: readonly { way: string[] }[]): string[] => found.map(({ way }) => way.join(' '));

describe('Shapes of the contract', () => {
  it('the document is smaller than 600 KB as it is served', () => {
    expect(Buffer.byteLength(JSON.stringify(contract))).to.be.lessThan(600_000);
  });

  it('every JSON body and answer has a name', () => {
    const unnamed = operations.flatMap(({ operationId, requestBody, responses }) => {
      const contents = [requestBody, ...Object.values(responses)].flatMap((one) => Object.entries(one?.content ?? {}));
      return contents
        .filter(([type]) => type === 'application/json')
        .map(([, { schema }]) => (schema.type === 'array' ? (schema.items as Json) : schema))
        .filter((schema) => !('$ref' in schema) && Object.keys(schema).length > 0 && schema.type !== 'string')
        .map(() => operationId);
    });
    expect(unnamed).to.deep.equal([]);
  });

  it('an object of several fields, or a list of words, that is needed twice has a name', () => {
    const seen = new Map<string, string[]>();
    for (const { part, way } of parts) {
      if (way[0] !== 'components' || way[1] !== 'schemas' || way.length < 4) continue;
      const { description: _words, ...shape } = part;
      const fields = Object.keys((part.properties as Json | undefined) ?? {}).length;
      const words = Array.isArray(part.enum) ? part.enum.length : 0;
      if (fields < 3 && words < 4) continue;
      const key = JSON.stringify(shape);
      seen.set(key, [...(seen.get(key) ?? []), way.join(' ')]);
    }
    expect([...seen.values()].filter((ways) => ways.length > 1)).to.deep.equal([]);
  });

  it('names are those of records: in capitals, without signs, at most 40 characters', () => {
    const odd = Object.keys(contract.components.schemas).filter((name) => !/^[A-Z][A-Za-z0-9]{1,39}$/.test(name));
    expect(odd).to.deep.equal([]);
    expect(contract.components.schemas).to.include.keys(
      ...['Study', 'Site', 'Participant', 'Consent', 'Eligibility', 'Form', 'AnchorDate', 'AnchorHistoryEntry'],
      ...['OverrideRequest', 'ImpactPreview', 'ScheduleVersion', 'ScheduledVisit', 'VisitWindow', 'Battery', 'Module'],
      ...[
        'CompiledBattery',
        'AssessmentSession',
        'Submission',
        'SyncConflict',
        'CaptureConfig',
        'WebhookEvent',
        'Push',
      ],
      ...['Notification', 'Event', 'Export', 'Problem', 'StudyPage', 'ParticipantCreate', 'ParticipantPatch'],
      ...['AnchorStatus', 'VisitStatus', 'EnrollmentDateSetEvent'],
    );
  });

  it('no name is what a generator would call a part of another record', () => {
    const called = Object.entries(contract.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties as Record<string, Json>)
        .filter(([, property]) => 'enum' in property || 'properties' in property)
        .map(
          ([field]) =>
            `${name}${field.charAt(0).toUpperCase()}${field.slice(1).replaceAll(/_(.)/g, (_, c: string) => c.toUpperCase())}`,
        ),
    );
    expect(called.filter((name) => name in contract.components.schemas)).to.deep.equal([]);
  });

  describe('what programs that generate clients can’t read is not there', () => {
    it('several types, other than one or null', () => {
      const odd = parts.filter(
        ({ part: { type } }) => Array.isArray(type) && (type.length !== 2 || !type.includes('null')),
      );
      expect(where(odd)).to.deep.equal([]);
    });

    it('exclusiveMinimum of whole numbers, which have a plain bound; a fraction above 0 has none', () => {
      const exclusive = parts.filter(({ part }) => 'exclusiveMinimum' in part || 'exclusiveMaximum' in part);
      const whole = exclusive.filter(({ part: { type } }) => ![type].flat().includes('number'));
      expect([exclusive.length > 0, where(whole)]).to.deep.equal([true, []]);
    });

    it('patternProperties for a map: the form of a trigger alone has some', () => {
      expect(where(parts.filter(({ part }) => 'patternProperties' in part))).to.deep.equal([
        'components schemas TriggerForm',
      ]);
    });

    it('a choice in a query or a header, and an instant in a header', () => {
      const parameters = [
        ...operations.flatMap(({ parameters: own = [] }) => own),
        ...Object.values(contract.components.parameters),
      ];
      const odd = parameters.filter(({ schema }) => {
        const { anyOf, oneOf } = (schema ?? {}) as Json;
        return anyOf !== undefined || oneOf !== undefined;
      });
      const instants = parameters.filter(
        ({ in: place, schema }) => place === 'header' && (schema as Json | undefined)?.format === 'date-time',
      );
      expect([...odd, ...instants].map(({ name }) => name)).to.deep.equal([]);
    });

    it('a form as text', () => {
      const forms = operations.flatMap(({ operationId, requestBody }) =>
        Object.entries(requestBody?.content ?? {})
          .filter(([type, { schema }]) => type.includes('form') && schema.type === 'string')
          .map(() => operationId),
      );
      expect(forms).to.deep.equal([]);
    });
  });

  it('records that stand for one another are told apart by a field that says which it is', () => {
    const record = (schema: Json): Json =>
      typeof schema.$ref === 'string' ? (contract.components.schemas[schema.$ref.split('/').at(-1)!] ?? {}) : schema;
    const unions = parts.filter(({ part }) => {
      const several = [part.oneOf, part.anyOf].flat().filter((one) => one !== undefined) as Json[];
      return several.filter((one) => record(one).type === 'object').length > 1;
    });
    const untold = unions.filter(({ part }) => {
      const { propertyName, mapping } = (part.discriminator ?? {}) as { propertyName: string; mapping?: Json };
      const branches = Object.entries(mapping ?? {});
      return (
        branches.length < 2 ||
        !branches.every(([word, $ref]) => {
          const { properties, required } = record({ $ref }) as { properties: Record<string, Json>; required: string[] };
          return required.includes(propertyName) && (properties[propertyName]!.enum as string[]).join() === word;
        })
      );
    });
    // A policy has the fields of a policy and no others; anyone who asks for a dry run knows it, and the answer says
    // `dry_run`.
    expect(where(untold)).to.deep.equal(['components schemas PolicySet']);
    expect(unions).to.have.length.greaterThan(1);
  });

  it('every operation says in words what it does and who may call it', () => {
    const silent = operations.filter(({ description = '' }) => !/\n\nAccess: .+\./.test(description));
    expect(silent.map(({ operationId }) => operationId)).to.deep.equal([]);
  });

  it('every tag says what it is about', () => {
    expect(contract.tags.filter(({ description }) => description === '')).to.deep.equal([]);
  });
});
