import { DefaultFailureConverter } from '@temporalio/common';

/** Message and stack of a failure as a payload, which the codec then encrypts. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
