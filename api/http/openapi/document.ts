import { bodySchema, requestBody } from '../route.js';
import type { Route } from '../route.js';
import { version } from '../version.js';
import { Components } from './components.js';
import type { Json } from './components.js';
import { parameters } from './parameters.js';
import { responses } from './responses.js';
import { permissions, security, securitySchemes } from './security.js';
import { tagDescriptions } from './tags.js';
import { WEBHOOKS_TAG, webhooks } from './webhooks.js';
import { operationDescription } from './words.js';

const description = `Runs longitudinal studies: participants, enrollment (anchor) dates with versioned visit schedules, and exchange with a capture system.

**Conventions.** JSON is snake_case; dates are YYYY-MM-DD; timestamps are ISO 8601 in UTC. A change and its audit record are stored together or not at all. Lists take \`skip\` and \`limit\` (1 to 500) and answer \`{items, total}\`.
Errors are \`{detail, code, errors?, warnings?, request_id}\`. A body, query or header that does not fit its schema is 422; a rule that is broken 400; what the caller may not see 404; a conflict with what is stored 409.
Study context: path, else \`X-Study-ID\`, else the query's \`study_id\`; \`X-Site-ID\` narrows to a site.
\`Idempotency-Key\` on POST: the same key and body within 24 hours answers what was answered, another body is 409. \`ETag\` on single resources; \`If-Match\` on PATCH, PUT and DELETE (409 when stale).
Every answer has \`X-Request-ID\` and \`X-Correlation-ID\`, and \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\` (unix seconds) where it is counted; the document names them with the errors. \`default\` is what any operation may answer: 401 and 403 where it asks for a token, 406, 408, 413, 415, 429, 500, 503. \`x-permissions\` names the roles that may call an operation; \`scope: study\` means: in the studies (and sites) that they are assigned to. The role \`participant\` is the participant itself with its portal token.
A request and an answer of each operation, as tests made and got them: [/docs/examples.json](/docs/examples.json), by its \`operationId\`.`;

/** The OpenAPI 3.1 document of `routes`; the same routes give the same document. */
export function openapi(all: readonly Route[]): Json {
  const routes = all.filter(({ hidden }) => !hidden);
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of [...routes].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route, components);
  }
  const used = new Set([...routes.map(({ tag }) => tag), WEBHOOKS_TAG]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Research Assessment Platform',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    // For most operations; the others name their own.
    security: [{ bearer: [] }],
    tags: Object.entries(tagDescriptions)
      .filter(([name]) => used.delete(name))
      .map(([name, about]) => ({ name, description: about }))
      // Tags without a description come last; a test of the contract refuses them.
      .concat([...used].map((name) => ({ name, description: '' }))),
    paths,
    webhooks: webhooks(components),
    components: { securitySchemes, ...components.all() },
  };
}

function operation(route: Route, components: Components): Json {
  const given = parameters(route, components);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: operationDescription(route),
    ...(route.deprecated && { deprecated: true }),
    ...(route.access.token !== true && { security: security(route.access) }),
    'x-permissions': permissions(route.access),
    ...(given.length > 0 && { parameters: given }),
    ...bodyOf(route, components),
    responses: responses(route, components),
  };
}

/** A body of bytes or a file by its media types, or JSON by its schema. */
function bodyOf(route: Route, components: Components): Json {
  const given = requestBody(route);
  const { mediaTypes, form } = given?.options ?? {};
  if (given?.kind === 'bytes') {
    const schema = form ? components.schema(form) : { type: 'string' };
    return {
      requestBody: {
        required: true,
        content: Object.fromEntries((mediaTypes ?? ['application/octet-stream']).map((type) => [type, { schema }])),
      },
    };
  }
  if (given?.kind === 'upload') {
    const file = { type: 'object', properties: { file: { type: 'string', format: 'binary' } }, required: ['file'] };
    const others = (mediaTypes ?? []).map((type) => [type, { schema: {} }]);
    return {
      requestBody: {
        required: true,
        content: { 'multipart/form-data': { schema: file }, ...(Object.fromEntries(others) as Json) },
      },
    };
  }
  const schema = bodySchema(route);
  if (!schema) return {};
  const { required = [] } = schema as { required?: string[] };
  return {
    requestBody: {
      required: required.length > 0,
      content: { 'application/json': { schema: components.schema(schema) } },
    },
  };
}
