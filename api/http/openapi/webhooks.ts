import { Event, eventCatalogue } from '../../events/events.schemas.js';
import { Type, named } from '../common.schemas.js';
import type { Components, Json } from './components.js';

const header = (name: string, about: string) => ({
  name,
  in: 'header',
  required: true,
  description: about,
  schema: { type: 'string' },
});
const SIGNED = {
  WebhookId: header('webhook-id', 'the event’s id: the same for every attempt'),
  WebhookTimestamp: header('webhook-timestamp', 'of the attempt, in unix seconds'),
  WebhookSignature: header(
    'webhook-signature',
    '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; two of them, with a space between, while a ' +
      'secret is being replaced',
  ),
};
const ANSWERS = {
  '2XX': { description: 'It has arrived.' },
  410: { description: 'Nothing more is to be sent: the subscription is disabled.' },
};

/** A tag of its own: generators create a file or class for each tag, and `Events` belongs to the operations. */
export const WEBHOOKS_TAG = 'Webhook events';

/** The events sent to subscribers: a webhook operation for each type of event. */
export function webhooks(components: Components): Json {
  return Object.fromEntries(
    Object.entries(eventCatalogue).map(([type, { when, data }]) => {
      const name = pascal(type);
      const schema = named(
        `${name}Event`,
        Type.Object({
          ...Event.properties,
          type: Type.Literal(type),
          data: named(`${name}Data`, data),
        }),
      );
      return [
        type,
        {
          post: {
            operationId: `receive${name}`,
            tags: [WEBHOOKS_TAG],
            summary: when,
            description:
              'Sent to every active subscription of the study that names the type, until it is answered with ' +
              '2xx or was tried for three days. Check the signature before you read the body; the same ' +
              '`webhook-id` may come twice.',
            // The receiver verifies the signature.
            security: [],
            parameters: Object.entries(SIGNED).map(([component, parameter]) =>
              components.refer('parameters', component, parameter),
            ),
            requestBody: { required: true, content: { 'application/json': { schema: components.schema(schema) } } },
            responses: ANSWERS,
          },
        },
      ];
    }),
  );
}

/** ENROLLMENT_DATE_SET as EnrollmentDateSet. */
const pascal = (words: string): string =>
  words
    .toLowerCase()
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
