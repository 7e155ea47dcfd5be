import { listDeliveries } from '../../db/events/event-deliveries.queries.js';
import { listSubscriptions } from '../../db/events/event-subscriptions.queries.js';
import { inStudy, staff } from '../http/access.js';
import { accepted, created, noContent, reply, route } from '../http/route.js';
import { Type, Uuid, listOf, oneOf, paging, sorting } from '../http/common.schemas.js';
import {
  ChangedEventSubscription,
  EventDelivery,
  EventSubscription,
  EventSubscriptionChange,
  EventSubscriptionWithSecret,
  NewEventSubscription,
  RotatedSecret,
  deliveryStatuses,
  SubscriptionStatus,
} from './events.schemas.js';
import {
  changeSubscription,
  createSubscription,
  getSubscriptionOrThrow,
  redeliverEvent,
  removeSubscription,
  rotateSecret,
} from './event-subscriptions.service.js';

const all = '/api/studies/{study_id}/event-subscriptions';
const one = `${all}/{subscription_id}` as const;
const deliveries = `${one}/deliveries` as const;
const read = inStudy('researcher', 'data_manager');

export const eventSubscriptionRoutes = [
  route({
    method: 'GET',
    path: all,
    operationId: 'listEventSubscriptions',
    tag: 'Events',
    summary: 'List the study’s event subscriptions',
    description: 'Where the study’s events are sent, and whether a subscription was disabled. Secrets are not shown.',
    access: read,
    transaction: 'read',
    query: Type.Object({ ...paging, sort: sorting('created_at'), status: Type.Optional(SubscriptionStatus) }),
    responses: { 200: listOf(EventSubscription) },
    handle: ({ tx, params, query }) =>
      listSubscriptions(tx, params.study_id, {
        ...query,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'created_at',
      }),
  }),
  route({
    method: 'POST',
    path: all,
    operationId: 'createEventSubscription',
    tag: 'Events',
    summary: 'Create an event subscription',
    access: staff.configure,
    transaction: 'change',
    idempotencyKey: false,
    description: `Each event is POSTed as \`GET /api/studies/{study_id}/events\` lists it, signed as [Standard Webhooks](https://www.standardwebhooks.com) (\`webhook-id\` is the event’s id, \`webhook-timestamp\`, \`webhook-signature\`) with the \`secret\` that is shown here once.
Any 2xx answer within EVENT_TIMEOUT_SECONDS counts as delivered. Anything else, a redirect too, is repeated with growing waits for EVENT_RETRY_MAX_DAYS, then it is \`failed\`; 410 disables the subscription. An event may arrive more than once, with the same id.
A \`url\` on a private address is 400 PRIVATE_URL where ALLOW_PRIVATE_URLS forbids it.`,
    body: NewEventSubscription,
    responses: { 201: EventSubscriptionWithSecret },
    handle: async ({ tx, audit, actor, context, services, params, body }) =>
      created(await createSubscription({ tx, audit, actor, context, services }, params.study_id, body)),
  }),
  route({
    method: 'GET',
    path: one,
    operationId: 'getEventSubscription',
    tag: 'Events',
    summary: 'Get an event subscription',
    description: 'A subscription by its id, without its secret. 404 if it does not exist.',
    access: read,
    transaction: 'read',
    responses: { 200: EventSubscription },
    handle: ({ tx, params }) => getSubscriptionOrThrow(tx, params.study_id, params.subscription_id),
  }),
  route({
    method: 'PATCH',
    path: one,
    operationId: 'updateEventSubscription',
    tag: 'Events',
    summary: 'Change, disable or enable an event subscription',
    access: staff.configure,
    transaction: 'change',
    description:
      'A disabled one is sent nothing, and events of that time are not sent later; what waited for it is ' +
      '`failed` and can be sent again by hand. Another `url` gets a new `secret` at once, shown in this answer ' +
      'alone.',
    body: EventSubscriptionChange,
    responses: { 200: ChangedEventSubscription },
    handle: ({ tx, audit, actor, context, services, params, body, assertIfMatch }) =>
      changeSubscription(
        { tx, audit, actor, context, services },
        params.study_id,
        params.subscription_id,
        body,
        assertIfMatch,
      ),
  }),
  route({
    method: 'DELETE',
    path: one,
    operationId: 'deleteEventSubscription',
    tag: 'Events',
    summary: 'Delete an event subscription with its deliveries',
    description: 'Nothing more is sent to its URL, and what was sent is no longer listed. 404 if it does not exist.',
    access: staff.configure,
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeSubscription({ tx, audit, actor, context }, params.study_id, params.subscription_id, assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'POST',
    path: `${one}/rotate-secret`,
    operationId: 'rotateSubscriptionSecret',
    tag: 'Events',
    summary: 'Rotate the signing secret of a subscription',
    access: staff.configure,
    transaction: 'change',
    idempotencyKey: false,
    description:
      'Until `previous_secret_until` (EVENT_SECRET_OVERLAP_HOURS) deliveries bear two signatures, one by each secret.',
    responses: { 200: RotatedSecret },
    handle: async ({ tx, audit, actor, context, services, params }) =>
      reply(200, await rotateSecret({ tx, audit, actor, context, services }, params.study_id, params.subscription_id)),
  }),
  route({
    method: 'GET',
    path: deliveries,
    operationId: 'listEventDeliveries',
    tag: 'Events',
    summary: 'List deliveries of a subscription, newest first',
    access: read,
    transaction: 'read',
    description:
      'Each event that was sent, with its attempts and the last answer. `status=failed` lists what was given up.',
    query: Type.Object({
      ...paging,
      sort: sorting('created_at'),
      status: Type.Optional(oneOf(...deliveryStatuses)),
      event_id: Type.Optional(Uuid),
    }),
    responses: { 200: listOf(EventDelivery) },
    handle: async ({ tx, params, query }) => {
      await getSubscriptionOrThrow(tx, params.study_id, params.subscription_id);
      return listDeliveries(tx, params.subscription_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? '-created_at',
        status: query.status,
        eventId: query.event_id,
      });
    },
  }),
  route({
    method: 'POST',
    path: `${deliveries}/{delivery_id}/redeliver`,
    operationId: 'redeliverEvent',
    tag: 'Events',
    summary: 'Redeliver an event',
    access: staff.configure,
    transaction: 'change',
    description: 'With all its time to be repeated. 409 SUBSCRIPTION_DISABLED when the subscription is disabled.',
    responses: { 202: EventDelivery },
    handle: async ({ tx, audit, actor, context, params }) =>
      accepted(
        await redeliverEvent(
          { tx, audit, actor, context },
          params.study_id,
          params.subscription_id,
          params.delivery_id,
        ),
      ),
  }),
];
