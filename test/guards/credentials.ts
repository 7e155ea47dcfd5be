import type { Guard } from './guard.js';

const INPUT = 'test/security/bad-input.test.ts';
const TOKENS = 'api/http/security/tokens.ts';
const PORTAL = 'test/api/portal.test.ts';
const APPROVAL = 'test/anchor/approval.test.ts';
const STORED = 'test/security/stored-answers.test.ts';
const RIGHTS = 'activities/anchor/authority.ts';

/** Tokens, cookies and forms; who decides an override. */
export const credentialGuards: readonly Guard[] = [
  {
    refuses: 'a token of another algorithm',
    file: TOKENS,
    text: `algorithms: ['HS256'],`,
    without: `algorithms: ['HS256', 'HS512'],`,
    test: INPUT,
    title: 'another algorithm: 401',
  },
  {
    refuses: 'a token of another audience',
    file: TOKENS,
    text: '      audience,\n      clockTimestamp',
    without: '      clockTimestamp',
    test: INPUT,
    title: 'another audience: 401',
  },
  {
    refuses: 'an expired token',
    file: TOKENS,
    text: 'clockTimestamp: Math.floor(nowMs() / 1000),',
    without: 'ignoreExpiration: true,',
    test: INPUT,
    title: 'an expired token: 401',
  },
  {
    refuses: 'a refresh token that was used before',
    file: 'api/identity/auth.service.ts',
    text: 'if (row.rotated) {',
    without: 'if (row.rotated && !row.usable) {',
    test: INPUT,
    title: 'a replayed refresh token: 401',
  },
  {
    refuses: 'a cursor that somebody made',
    file: 'api/http/conventions/cursor.ts',
    text: ' || !timingSafeEqual(mine, expected))',
    without: ' || mine === expected)',
    test: INPUT,
    title: 'a forged cursor: 400',
  },
  {
    refuses: 'a scope that a token lacks',
    file: 'api/http/access.ts',
    text: 'if (access.scope && !row.scopes?.includes(access.scope))',
    without: 'if (access.scope && !row.scopes)',
    test: 'test/api/v1.test.ts',
    title: 'a scope that is missing is 403 and named; the others suffice',
  },
  {
    refuses: 'a change by the portal’s cookie from another site',
    file: 'api/http/security/portal.ts',
    text: `if (changes && ctx.get(CSRF_HEADER) !== '1' && ctx.get('sec-fetch-site') !== 'same-origin')`,
    without: `if (changes && ctx.method === 'GET')`,
    test: PORTAL,
    title: 'changes only with the header, or from a page of the service itself',
  },
  {
    refuses: 'a token as a cookie',
    file: 'api/http/security/portal.ts',
    text: `if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw problem('INVALID_TOKEN');`,
    without:
      'if (given.length === expected.length && !timingSafeEqual(given, expected)) return token;\n  if (at < 0 || token.split(".").length === 2) return cookie;',
    test: PORTAL,
    title: 'is no bearer token, and a token no cookie',
  },
  {
    refuses: 'a form of the console that another page sent',
    file: 'api/http/security/console-login.ts',
    text: `if (!fits) throw problem('CSRF_REFUSED', { detail: 'The form was not sent by this page.' });`,
    without: '',
    test: 'test/console/approvals.test.ts',
    title: 'asks for a reason, and keeps what was typed',
  },
  {
    refuses: 'a decision of who asked',
    file: RIGHTS,
    text: 'if (request.requested_by_id === message.approver_user_id)',
    without: `if (request.requested_by_id === '')`,
    test: APPROVAL,
    title: 'self-approval is 403 SELF_APPROVAL',
  },
  {
    refuses: 'a decision of a role that is no approver',
    file: RIGHTS,
    text: 'member(user) && approverRoles(policy).includes(user.role);',
    without: 'member(user) && approverRoles(policy).length > 0;',
    test: APPROVAL,
    title: 'a role that is no approver is 403, an approver of another study 404; both change nothing',
  },
  {
    refuses: 'the outcome of an override to a user who has left the study, or whose account is not active',
    file: 'db/anchor/override-request-writes.queries.ts',
    text: 'where o.id = $3::uuid and ${WORKS_HERE}',
    without: 'where o.id = $3::uuid and $1::uuid is distinct from $2::uuid',
    test: 'test/anchor/outcome-mails.test.ts',
    title: 'goes to nobody who has left the study, nor to an account that is not active',
  },
  {
    refuses: 'a second decision on a request',
    file: 'activities/anchor/commands/override-decisions.ts',
    text: `if (request.status !== 'pending' || request.expires_at <= facts.now)`,
    without: 'if (request.expires_at <= facts.now)',
    test: APPROVAL,
    title: 'a decision on what is decided is 409, and an audit record; of two at once one counts',
  },
  {
    refuses: 'a denial without a reason',
    file: 'activities/anchor/commands/override-decisions.ts',
    text: `? rejected(400, 'REASON_REQUIRED', 'a denial needs a reason')`,
    without: `? deny(snapshot, request, { decidedBy, reason: 'none', sender, signature })`,
    test: APPROVAL,
    title: 'a denial without a reason is 400 REASON_REQUIRED and decides nothing',
  },
  {
    refuses: 'a decision on a request of another participant',
    file: 'db/anchor/override-request-writes.queries.ts',
    text: `where({ id, participant_id: participantId }).forUpdate().first());`,
    without: `where({ id }).whereNot({ id: participantId }).forUpdate().first());`,
    test: APPROVAL,
    title: 'an unknown request, or one of another participant, is 404',
  },
  {
    refuses: 'a stored answer about what its caller may not see any more',
    file: 'api/http/middleware/idempotency.ts',
    text: 'await requireReplayAccess(ctx, stored, database, tx);',
    without: '',
    test: STORED,
    title: 'nor another study',
  },
  {
    refuses: 'the stored session of a participant of another site',
    file: 'db/operations/idempotency.queries.ts',
    text: "const OF_PARTICIPANT = ['assessment_sessions', 'scheduled_visits'];",
    without: 'const OF_PARTICIPANT: string[] = [];',
    test: STORED,
    title: 'is not given to who may not see any more what it is about',
  },
  {
    refuses: 'an approver’s authorization that is stored under an Idempotency-Key',
    file: 'api/anchor/overrides.routes.ts',
    text: 'idempotencyKey: false,',
    without: '',
    test: 'test/security/authorizations.test.ts',
    title: 'an authorization that is refused is a record of the study, and none is kept under a key',
  },
];
