import { etagOf } from '../../http/conventions/etag.js';
import { problem } from '../../http/errors.js';

/** What a form says of the record that its page showed, in its field `version`. */
export const versionOf = (record: object): string => etagOf(record) ?? '';

/** As a request's If-Match: refuses a change of a record that is not the one that the form's page showed. @throws 409 STALE */
export const unchangedSince =
  (form: URLSearchParams) =>
  (record: object): void => {
    if (versionOf(record) !== form.get('version')) throw problem('STALE');
  };
