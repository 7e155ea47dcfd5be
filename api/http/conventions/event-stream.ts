export const EVENT_STREAM = 'text/event-stream';
/** Some lists can answer an event stream; clients that prefer it get it there, and JSON elsewhere. */
export const JSON_OR_STREAM = ['application/json', EVENT_STREAM];
