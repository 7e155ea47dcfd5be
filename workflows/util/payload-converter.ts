import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload, PayloadConverter } from '@temporalio/common';
import { ANSWERS_OPEN, CAME_OPEN, answersOpen, markCameOpen } from './came-open.js';

const YES = Uint8Array.of(1);

/** Temporal’s converter, which also passes the marks of unencrypted messages (came-open.ts) to the value and back. */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => {
    const payload = defaultPayloadConverter.toPayload(value);
    return answersOpen(value) ? { ...payload, metadata: { ...payload.metadata, [ANSWERS_OPEN]: YES } } : payload;
  },
  fromPayload: <T>(payload: Payload): T => {
    const value = defaultPayloadConverter.fromPayload<T>(payload);
    return payload.metadata?.[CAME_OPEN] ? markCameOpen(value) : value;
  },
};
