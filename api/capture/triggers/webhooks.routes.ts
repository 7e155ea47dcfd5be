import { FORMER_PATH } from '../../http/conventions/deprecation.js';
import { listWebhookEvents } from '../../../db/capture/webhook-events.queries.js';
import { listUnmatched } from '../../../db/capture/unmatched-triggers.queries.js';
import { anyone, inStudy, roles, outsideStudy } from '../../http/access.js';
import type { Access } from '../../http/access.js';
import { rateHeaders } from '../../http/middleware/rate-limit.js';
import { accepted, reply, route, rawForm } from '../../http/route.js';
import {
  TriggerAccepted,
  TriggerForm,
  TriggerQuery,
  UnmatchedQuery,
  UnmatchedTriggers,
  WebhookEvent,
  WebhookEventQuery,
  WebhookEvents,
} from './webhooks.schemas.js';
import { assertAllowedAddress } from './allowed-addresses.js';
import { receiveTrigger } from './receive-trigger.service.js';
import { retryTrigger, webhookEventView } from './webhook-events.service.js';

const checkAddress: NonNullable<Access['checkAddress']> = (address, { WEBHOOK_ALLOWED_IPS }) =>
  assertAllowedAddress(address, WEBHOOK_ALLOWED_IPS);

const det = (path: '/api/webhooks/datacapture/det' | '/api/webhooks/redcap/det') =>
  route({
    method: 'POST',
    path,
    operationId: path === '/api/webhooks/datacapture/det' ? 'receiveTrigger' : 'receiveRedcapTrigger',
    ...(path === '/api/webhooks/redcap/det' && { deprecated: FORMER_PATH }),
    tag: 'Capture system',
    summary:
      path === '/api/webhooks/datacapture/det'
        ? 'Receive a data-entry trigger'
        : 'Take a data-entry trigger (former path)',
    description:
      'Form fields: `project_id`, `record`, `instrument` (required), `<instrument>_complete`, and with the ' +
      'prefix `datacapture_` or `redcap_`: ' +
      '`event_name`, `data_access_group`, `repeat_instance`, `repeat_instrument`. Signed in ' +
      '`X-Datacapture-Signature: sha256=<hex HMAC-SHA256 of the raw body>`; ' +
      'with `X-Datacapture-Timestamp` (unix seconds, within 5 minutes) over `<timestamp>.<raw body>`; or, where ' +
      '`webhook_auth` is `url`, in `?signature=`. ' +
      'The event is stored before the answer; it is processed afterwards. An unknown project, or a webhook ' +
      'that is off: accepted, nothing done.',
    access: { ...anyone, checkAddress },
    rateLimit: 'none',
    body: rawForm(TriggerForm, 'application/x-www-form-urlencoded', 'multipart/form-data'),
    query: TriggerQuery,
    responses: { 200: TriggerAccepted, 400: undefined, 401: undefined, 403: undefined, 429: undefined, 503: undefined },
    handle: async ({ raw, headers, query, context, services }) => {
      const sent = { raw, headers, urlSignature: query.signature, ip: context.ip };
      const { record, allowance } = await receiveTrigger(services, sent);
      return reply(200, { status: 'accepted', record }, rateHeaders(allowance));
    },
  });

export const webhookRoutes = [
  det('/api/webhooks/datacapture/det'),
  det('/api/webhooks/redcap/det'),
  route({
    method: 'GET',
    path: '/api/datacapture/unmatched-triggers',
    operationId: 'listUnmatchedTriggers',
    tag: 'Capture system',
    summary: 'List unmatched triggers by project',
    description:
      'A project id that no configuration has, or whose webhook or integration is off: how many triggers came, ' +
      'the first and the last; not their content. Once a configuration is saved with the project id, ' +
      'its count is forgotten.',
    access: outsideStudy(roles('admin')),
    transaction: 'read',
    query: UnmatchedQuery,
    responses: { 200: UnmatchedTriggers },
    handle: ({ tx, query }) =>
      listUnmatched(tx, { skip: query.skip ?? 0, limit: query.limit ?? 50, sort: query.sort ?? '-last_at' }),
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/webhook-events',
    operationId: 'listWebhookEvents',
    tag: 'Capture system',
    summary: 'List received triggers, newest first',
    description: 'Triggers of the capture system, with what became of each. A failed one can be retried.',
    access: inStudy(),
    transaction: 'read',
    query: WebhookEventQuery,
    responses: { 200: WebhookEvents },
    handle: async ({ params, query, tx }) => {
      const { items, total } = await listWebhookEvents(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        ...(query.status && { status: query.status }),
        ...(query.record !== undefined && { record: query.record }),
      });
      return { items: items.map(webhookEventView), total };
    },
  }),
  route({
    method: 'POST',
    path: '/api/webhook-events/{id}/retry',
    operationId: 'retryTrigger',
    tag: 'Capture system',
    summary: 'Retry a failed trigger',
    description:
      'The trigger is processed once more, as if it had come now. One that has not failed is 409 NOT_FAILED; while ' +
      'the study’s `datacapture_enabled` is off, 409 DATACAPTURE_DISABLED.',
    access: inStudy('researcher', 'data_manager'),
    transaction: 'change',
    responses: { 202: WebhookEvent },
    handle: async ({ params, actor, context, tx, audit }) =>
      accepted(webhookEventView(await retryTrigger({ tx, audit, actor, context }, params.id))),
  }),
];
