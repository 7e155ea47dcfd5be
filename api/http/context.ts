import type { Context } from 'koa';
import { problem } from './errors.js';
import type { Access, Named } from './access.js';
import type { RouteContext } from './state.js';
import { singleValue } from './validation/query.js';
import { UUID } from '../../db/client/uuid.js';

/** The objects that a request names. The participant is only one of a portal token. @throws 400, 422 */
export function namedIn(ctx: RouteContext, access: Access): Named {
  const { params, search } = ctx.state;
  return {
    studyId: studyContext(ctx, access, params, search),
    siteId: siteContext(ctx),
    // For staff it is only validated.
    participantId:
      access.token === 'portal' || access.token === 'either' ? participantContext(ctx, params, search) : undefined,
  };
}

/**
 * The study that a request names: by path (`study_id`), else X-Study-ID, else the query's study_id (the first one
 * counts). The caller's access is checked with the caller.
 * @throws 422 if it is no uuid
 */
function studyContext(
  ctx: Context,
  access: Access,
  params: Record<string, string>,
  search: URLSearchParams,
): string | undefined {
  if (access.studyContext === 'none') return params.study_id?.toLowerCase();
  const byHeader = uuid(ctx.headers['x-study-id'] as string | undefined, 'header.x-study-id');
  const byQuery = uuid(singleValue(search, 'study_id'), 'query.study_id');
  return (params.study_id ?? byHeader ?? byQuery)?.toLowerCase();
}

/**
 * The participant that a request with a portal token concerns: by path (`participant_id`), else X-Participant-ID, else
 * the query's participant_id. The caller's access is checked with the caller.
 * @throws 400 CONTEXT_CONFLICT when two of them differ, 422 if it is no uuid
 */
function participantContext(ctx: Context, params: Record<string, string>, search: URLSearchParams): string | undefined {
  const given = [
    params.participant_id,
    uuid(ctx.headers['x-participant-id'] as string | undefined, 'header.x-participant-id'),
    uuid(singleValue(search, 'participant_id'), 'query.participant_id'),
  ]
    .filter((id) => id !== undefined)
    .map((id) => id.toLowerCase());
  if (new Set(given).size > 1)
    throw problem('CONTEXT_CONFLICT', {
      detail: 'Path, X-Participant-ID and participant_id name different participants.',
    });
  return given[0];
}

/** The site of X-Site-ID, which narrows the study. @throws 422 if it is no uuid */
function siteContext(ctx: Context): string | undefined {
  const site = ctx.get('x-site-id');
  if (ctx.headers['x-site-id'] === undefined) return undefined;
  if (!UUID.test(site))
    throw problem('VALIDATION_FAILED', {
      detail: 'X-Site-ID is not a valid uuid',
      errors: [{ path: 'header.x-site-id', code: 'FORMAT', message: 'X-Site-ID is not a valid uuid' }],
    });
  return site.toLowerCase();
}

function uuid(value: string | undefined, path: string): string | undefined {
  if (value === undefined) return undefined;
  if (!UUID.test(value))
    throw problem('VALIDATION_FAILED', {
      detail: `${path} is not a valid uuid`,
      errors: [{ path, code: 'FORMAT', message: `${path} is not a valid uuid` }],
    });
  return value;
}
