/** A whole text that is a UUID, in any case. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** A UUID as the service writes it. */
export const LOWERCASE_UUID = new RegExp(UUID.source);
/** SQL: the uuid that a text is; null: it is none. */
export const uuidIn = (text: string): string =>
  `case when ${text} ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (${text})::uuid end`;
