import { PLAIN_LIMITS, RAW_DATA_LIMITS, parseLargeJson } from '../body/json.js';
import { requireFile } from '../body/upload.js';
import { RequestBody, bodySchema } from '../route.js';
import type { Route } from '../route.js';
import type { RouteStep } from '../state.js';
import { checkInSlices } from '../validation/in-slices.js';
import { checkedQuery } from '../validation/query.js';
import { check } from '../validation/validation.js';

/** Checks query, headers and body against their schemas, and fills in defaults (400, 413, 422). */
export function validate(route: Route): RouteStep {
  const schema = bodySchema(route);
  const special = route.body instanceof RequestBody ? route.body : undefined;
  const limits = special ? RAW_DATA_LIMITS : PLAIN_LIMITS;
  return async ({ state, headers }) => {
    state.query ??= checkedQuery(route, state.search);
    if (route.headers) check(route.headers, { ...headers }, 'headers');
    if (schema) {
      state.body = await parseLargeJson(state.raw, special?.options.perItem, limits);
      await checkInSlices(schema, state.body);
    }
    if (state.upload) requireFile(state.upload);
  };
}
