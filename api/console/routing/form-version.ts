import { etagOf } from '../../http/conventions/etag.js';
import { problem } from '../../http/errors.js';

/** The version of the displayed record, for the form's field `version`. */
export const versionOf = (record: object): string => etagOf(record) ?? '';

/**
 * Like a request's If-Match: refuses a change if the record differs from the one that the form's page showed. @throws
 * 409 STALE
 */
export const assertFormVersion =
  (form: URLSearchParams) =>
  (record: object): void => {
    if (versionOf(record) !== form.get('version')) throw problem('STALE');
  };
