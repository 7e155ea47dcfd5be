import { until } from '../support/until.js';

/**
 * The first answer for which the capture system was asked in time: a save waits for its check a few seconds at most,
 * and a busy machine may take longer.
 */
export const compared = <R extends { body: unknown }>(save: () => Promise<R>): Promise<R> =>
  until(
    async () => {
      const reply = await save();
      return JSON.stringify(reply.body).includes('MAPPING_NOT_CHECKED') ? undefined : reply;
    },
    { what: 'an answer that was compared with the capture system' },
  );
