import type { Break, Rule } from './fits.js';

/** An accepted break with its reason; `at` matches its place. The list is emptied with the next release. */
export interface Allowed {
  rule: Rule;
  at: RegExp;
  reason: string;
}

export const allowed: readonly Allowed[] = [
  {
    rule: 'header-removed',
    at: / X-(Request-ID|Correlation-ID|RateLimit-(Limit|Remaining|Reset))$/,
    reason: 'they come with every answer as before: the document says so once, instead of at each status',
  },
  {
    rule: 'operation-id-changed',
    at: /^/,
    reason: 'names as one would type them, once; test/contract/operation-ids.test.ts freezes them',
  },
  {
    rule: 'request-narrowed',
    at: / (query (from|to)|header x-device-time)$/,
    reason: 'a pattern that says what the formats said, which no generator could read in a parameter',
  },
  ...(['request-narrowed', 'request-field-required'] as const).map((rule) => ({
    rule,
    at: /^POST \/api\/sync\/(bulk|check-conflicts|sessions|responses) body/,
    reason: 'the shape of an item is told by name; one that does not fit it is answered as rejected, as before',
  })),
  {
    rule: 'request-narrowed',
    at: /^PATCH \/api\/(datacapture|redcap)\/config\/\{study_id\} body\.api_token$/,
    reason: 'the pattern is wider: blanks at the ends of a copied token are cut off',
  },
  {
    rule: 'request-narrowed',
    at: / body\.datacapture_event$/,
    reason: 'a name of blanks alone is refused: no event has it, and results that go there were refused later',
  },
  {
    rule: 'request-narrowed',
    at: /^POST \/api\/webhooks\/(datacapture|redcap)\/det body$/,
    reason: 'the form of a trigger was told as a text; its fields have names',
  },
  {
    rule: 'request-narrowed',
    at: / (body|query)[. ](.*\.|.*\[\]\.)?(name|study_name|code|study_code|site_code|participant_code|external_id|battery_code|arm|relationship|form_oid|event_oid)$/,
    reason: 'a name or code of blanks, of signs without width or of several lines was a mistake that nobody could see',
  },
  {
    rule: 'request-narrowed',
    at: /^POST \/api\/notifications\/preview body\.template\.(subject|body)$/,
    reason: 'a message without words was sent; a subject is one line',
  },
  {
    rule: 'request-narrowed',
    at: /^GET \/api\/studies\/\{study_id\}\/events query type$/,
    reason: 'a type that no event has was answered with an empty list, as if nothing had happened',
  },
  {
    rule: 'parameter-removed',
    at: /\/participants\/\{participant_id\}\/anchor-date query participant_id$/,
    reason: 'the path names the participant already; it is taken as before, and told no more: it made two of one name',
  },
  {
    rule: 'parameter-removed',
    at: /^POST \/api\/studies\/\{study_id\}\/approvals\/\{override_request_id\}\/authorization header idempotency-key$/,
    reason: 'the answer is a credential, which is stored nowhere; the header is taken as before and means nothing',
  },
];

/** Breaks without a decision, and obsolete decisions. */
export function undecided(
  breaks: readonly Break[],
  list: readonly Allowed[] = allowed,
): { breaks: Break[]; unused: Allowed[] } {
  const meant = (one: Break) => list.find(({ rule, at }) => rule === one.rule && at.test(one.at));
  const used = new Set(breaks.map(meant));
  return { breaks: breaks.filter((one) => !meant(one)), unused: list.filter((one) => !used.has(one)) };
}
