import type { Guard } from './guard.js';

const RULES = 'test/security/expressions.test.ts';
const BOUNDS = 'workflows/domain/participants/fact-bounds.ts';
const READABLE = 'a form takes no more than rules can read: 422 naming the item, also of a change';
const FORMS = 'api/participants/forms.service.ts';
const COSTLY = 'test/security/costly-requests.test.ts';
const MISUSE = 'test/security/misuse.test.ts';
const STREAMS = 'test/security/streams.test.ts';

/** What one caller, or one rule, may take of the service. */
export const limitGuards: readonly Guard[] = [
  {
    refuses: 'the result of a rule that took too many steps',
    file: 'workflows/domain/expressions/expressions.ts',
    text: 'return isOverBudget() ? over() : { ok: true, value };',
    without: 'return { ok: true, value };',
    test: RULES,
    title: 'a loop in a loop is over budget',
  },
  {
    refuses: 'rules that go on with the steps of those before',
    file: 'workflows/domain/expressions/expression-budget.ts',
    text: 'spent = budget.spent;',
    without: 'spent = 0 * budget.spent;',
    test: RULES,
    title: 'the rules of a policy share the steps of a decision',
  },
  ...(
    [
      ['texts', `return part.length > MAX_CHARACTERS`, `return part.length < 0`],
      ['depth', `if (depth > MAX_NESTING)`, `if (depth > MAX_NESTING + 100)`],
      ['lists', `if ((entries += inside.length) > MAX_ENTRIES)`, `if ((entries += inside.length) > MAX_ENTRIES * 100)`],
      ['numbers of items', `if (inAll > MAX_FACT_ITEMS)`, `if (inAll > MAX_FACT_ITEMS * 100)`],
    ] as const
  ).map(([what, text, without]) => ({
    refuses: `${what} in a form beyond what rules can read`,
    file: BOUNDS,
    text,
    without,
    test: RULES,
    title: READABLE,
  })),
  {
    refuses: 'a new form that rules cannot read',
    file: FORMS,
    text: 'requireReadable(input.items ?? {}, Object.keys(input.items ?? {}).length);',
    without: '',
    test: RULES,
    title: READABLE,
  },
  {
    refuses: 'a changed form that rules cannot read',
    file: FORMS,
    text: '  requireReadable(\n    Object.fromEntries(',
    without: '  void ((_items: object, _inAll: number) => undefined)(\n    Object.fromEntries(',
    test: RULES,
    title: READABLE,
  },
  {
    refuses: 'criteria of eligibility that rules cannot read',
    file: 'api/participants/eligibility.service.ts',
    text: 'if (tooMuch.length > 0) throw invalidFields(tooMuch);',
    without: '',
    test: RULES,
    title: READABLE,
  },
  {
    refuses: 'new forms beyond what a decision can read',
    file: FORMS,
    text: '  await requireRoom(tx, participantId);\n',
    without: '',
    test: RULES,
    title: 'a participant’s forms have a bound in total',
  },
  {
    refuses: 'changed forms beyond what a decision can read',
    file: FORMS,
    text: 'if (changedItems.some((name) => name in items)) await requireRoom(tx, participantId);',
    without: '',
    test: RULES,
    title: 'a participant’s forms have a bound in total',
  },
  {
    refuses: 'an activity that overruns without end',
    file: 'activities/operations/overruns.ts',
    text: 'if (before >= tries) {',
    without: 'if (before >= tries + 100) {',
    test: RULES,
    title: 'an activity that overruns its time at each of three attempts is given up',
  },
  {
    refuses: 'long bodies without a login',
    file: 'api/http/body/limit.ts',
    text: 'if (!route.access.token) return Math.min(SMALL_BYTES, settings.MAX_BODY_BYTES);',
    without: '',
    test: COSTLY,
    title: 'a mail that came back: 64 KiB; nobody’s is not taken apart',
  },
  {
    refuses: 'to take apart a mail that is nobody’s',
    file: 'api/notifications/bounces.service.ts',
    text: '  if (id === undefined)\n',
    without: `  if (id === '')\n`,
    test: COSTLY,
    title: 'a mail that came back: 64 KiB; nobody’s is not taken apart',
  },
  {
    refuses: 'a file of millions of blank lines',
    file: 'api/imports/files/csv-rows.ts',
    text: 'const MAX_LINES = 200_000;',
    without: 'const MAX_LINES = 200_000_000;',
    test: COSTLY,
    title: 'a file of nothing but lines is read elsewhere, and refused by their number',
  },
  {
    refuses: 'a sixth event stream of a user',
    file: 'api/events/event-reader.service.ts',
    text: 'export const MAX_STREAMS = 5;',
    without: 'export const MAX_STREAMS = 500;',
    test: STREAMS,
    title: 'five at a time; the next is 429 until one is closed; others have their own',
  },
  {
    refuses: 'a stream after the login that opened it',
    file: 'api/events/event-stream.service.ts',
    text: 'authorizeUser(access, row, caller.studyId, epoch);',
    without: 'authorizeUser(access, row, caller.studyId, epoch < 0 ? epoch : undefined);',
    test: STREAMS,
    title: 'a stream ends with the login that opened it',
  },
  {
    refuses: 'a caller of its own for each port that a proxy appends',
    file: 'api/http/middleware/proxied-address.ts',
    text: 'const address = found ?',
    without: 'const address = found?.length === 0 ?',
    test: 'test/api/rate-limits.test.ts',
    title: 'count an address once, whatever port the proxy appends',
  },
  {
    refuses: 'unsigned triggers from each address of a network',
    file: 'api/capture/triggers/trigger-takers.ts',
    text: '`ip:${networkOf(ip)}`',
    without: '`ip:${networkOf(ip) && ip}`',
    test: 'test/api/rate-limits.test.ts',
    title: 'count triggers that nobody signed by their network',
  },
  {
    refuses: 'messages that are sent again and again',
    file: 'api/notifications/notifications.service.ts',
    text: 'await requireResendQuota(tx, settings, to);',
    without: '',
    test: MISUSE,
    title: 'a message is sent again to one recipient so often an hour',
  },
  {
    refuses: 'more devices than a person has',
    file: 'db/notifications/notifications.queries.ts',
    text: '.limit(MAX_DEVICES)',
    without: '.limit(100 * MAX_DEVICES)',
    test: MISUSE,
    title: 'devices are so many for each person',
  },
  {
    refuses: 'more subscriptions than a study has receivers',
    file: 'api/events/event-subscriptions.service.ts',
    text: '>= MAX_SUBSCRIPTIONS)',
    without: '> 100 * MAX_SUBSCRIPTIONS)',
    test: MISUSE,
    title: 'subscriptions of a study are so many',
  },
  {
    refuses: 'a connection to the mail server for each who asks how the service is',
    file: 'api/util/shared-probe.ts',
    text: 'if (known && known.until > performance.now()) return known.result;',
    without: '',
    test: 'test/security/misuse.test.ts',
    title: 'the mail server is not connected to for each who asks',
  },
];
