/** A whole text that is a UUID, in any case. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** A UUID as the service writes it. */
export const LOWERCASE_UUID = new RegExp(UUID.source);
