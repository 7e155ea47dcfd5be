import type { Guard } from './guard.js';

const TAMPERING = 'test/audit/tampering.test.ts';
const UNSIGNED = 'test/audit/unsigned-columns.test.ts';
const VERIFY = 'db/audit/audit-verify.ts';
const OFFLINE = 'scripts/audit-verify-export.mjs';
const SIGNED = 'api/capture/triggers/trigger-signature.ts';
const TRIGGERS = 'test/capture/trigger-signature.test.ts';
const ONCE = 'test/api/idempotency.test.ts';
const KEYS = 'api/http/conventions/idempotency-keys.ts';

/** The audit chain, triggers, and requests that are repeated. */
export const recordGuards: readonly Guard[] = [
  {
    refuses: 'a refused decision without a record',
    file: 'api/anchor/refused-decisions.ts',
    text: 'throw isUnrecorded ? new RefusedDecision(fault, about) : fault;',
    without: `throw isUnrecorded && about.userId === '' ? new RefusedDecision(fault, about) : fault;`,
    test: 'test/anchor/refused-decisions.test.ts',
    title: 'for want of a proof of identity, by REST and in the console (401)',
  },
  {
    refuses: 'a handler’s refusal without a record',
    file: 'api/http/middleware/audit-denials.ts',
    text: 'else if (fault.options.recorded === undefined && fault.afterRollback === undefined)',
    without: 'else if (fault.options.recorded !== undefined && fault.afterRollback === undefined)',
    test: 'test/audit/records.test.ts',
    title: 'what is refused for what the request asks',
  },
  {
    refuses: 'an edited record',
    file: 'db/audit/audit-lines.ts',
    text: `if (record.hash !== record.content) return 'its content is not what was sealed';`,
    without: '',
    test: TAMPERING,
    title: 'a word of a record edited: record 4 is named',
  },
  {
    refuses: 'a chain that ends before its checkpoint',
    file: VERIFY,
    text: 'if (last && last.rows > rows)',
    without: 'if (last && last.rows > rows + 1_000)',
    test: TAMPERING,
    title: 'the tail cut, its head with it: record 15 is named',
  },
  {
    refuses: 'records that were rewritten and hashed again',
    file: VERIFY,
    text: 'const fault = faultAt(record, { seq: rows + 1, head }) ?? this.stated(record.seq, record.hash);',
    without: 'const fault = faultAt(record, { seq: rows + 1, head });',
    test: TAMPERING,
    title: 'everything from record 9 on rewritten: record 9 is named',
  },
  {
    refuses: 'a checkpoint that was deleted in the database',
    file: VERIFY,
    text: 'if (!known.has(checkpoint.signature))',
    without: 'if (!known.has(checkpoint.signature) && checkpoint.rows < 0)',
    test: TAMPERING,
    title: 'a checkpoint deleted: record 12 is named',
  },
  {
    refuses: 'a checkpoint that says something else',
    file: 'db/audit/audit-signing.ts',
    text: `verify(null, Buffer.from(signedText(checkpoint)), createPublicKey(key), Buffer.from(checkpoint.signature, 'base64'))`,
    without: `verify(null, Buffer.from(signedText(checkpoint)), createPublicKey(key), Buffer.from(checkpoint.signature, 'base64')) !== undefined`,
    test: TAMPERING,
    title: 'a checkpoint made to say something else: record 17 is named',
  },
  {
    refuses: 'checkpoints that are outside of the database alone',
    file: VERIFY,
    text: 'return [...new Set([...chains, ...(outside?.checkpoints.keys() ?? [])])].sort();',
    without: 'return [...new Set([...chains, ...(outside ? [] : [])])].sort();',
    test: TAMPERING,
    title: 'the whole chain removed: record 1 is named',
  },
  {
    refuses: 'an edited record of an export',
    file: OFFLINE,
    text: `if (record.hash !== recordHash(record)) return fail('its content is not what was sealed');`,
    without: '',
    test: TAMPERING,
    title: 'a word of a record edited: record 4 is named',
  },
  {
    refuses: 'rewritten records of an export',
    file: OFFLINE,
    text: `if (prefix >= 0 && state.prefixes.toString('hex', prefix, prefix + 8) !== record.hash.slice(0, 16))`,
    without: 'if (prefix < -1_000_000)',
    test: TAMPERING,
    title: 'everything from record 9 on rewritten: record 9 is named',
  },
  {
    refuses: 'an export that ends before its checkpoint',
    file: OFFLINE,
    text: 'if (last && last.rows > size)',
    without: 'if (last && last.rows > size + 1_000)',
    test: TAMPERING,
    title: 'the tail cut, its head with it: record 15 is named',
  },
  {
    refuses: 'an export whose checkpoint says something else',
    file: OFFLINE,
    text: `verify(null, Buffer.from(signedText(checkpoint)), key, Buffer.from(checkpoint.signature, 'base64'))`,
    without: `verify(null, Buffer.from(signedText(checkpoint)), key, Buffer.from(checkpoint.signature, 'base64')) !== null`,
    test: TAMPERING,
    title: 'a checkpoint made to say something else: record 17 is named',
  },
  {
    refuses: 'an export that lacks a checkpoint which was kept outside',
    file: OFFLINE,
    text: 'if (missing.has(checkpoint.signature))',
    without: 'if (missing.has(checkpoint))',
    test: TAMPERING,
    title: 'a checkpoint deleted: record 12 is named',
  },
  {
    refuses: 'a trigger with another signature',
    file: SIGNED,
    text: `timingSafeEqual(Buffer.from(hex, 'hex'), digest);`,
    without: `(timingSafeEqual(Buffer.from(hex, 'hex'), digest) || true);`,
    test: TRIGGERS,
    title: 'refuses with another secret',
  },
  {
    refuses: 'an old trigger',
    file: SIGNED,
    text: 'if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE) return false;',
    without: '',
    test: TRIGGERS,
    title: 'refuses one of five minutes and a second ago',
  },
  {
    refuses: 'the signature of a URL where it is not allowed',
    file: SIGNED,
    text: `if (auth !== 'url' || request.urlSignature === undefined) return false;`,
    without: 'if (request.urlSignature === undefined) return false;',
    test: TRIGGERS,
    title: "refuses the URL's signature where it says header",
  },
  {
    refuses: 'another body under a key that was used',
    file: KEYS,
    text: `function replay(stored: NonNullable<Awaited<ReturnType<typeof claimOf>>>, request: IdempotencyKey): Reply {
  if (!stored.body_hash.equals(request.bodyHash)) throw problem('IDEMPOTENCY_KEY_REUSED');`,
    without: `function replay(stored: NonNullable<Awaited<ReturnType<typeof claimOf>>>, request: IdempotencyKey): Reply {
  void request;`,
    test: ONCE,
    title: 'another body under the same key is 409',
  },
  {
    refuses: 'the answer to another caller under the same key',
    file: 'api/http/middleware/idempotency.ts',
    text: "return principal.kind === 'caregiver' ? `${principal.id} ${actor!.id}` : principal.id;",
    without:
      "return principal.kind === 'caregiver' ? `${principal.id} ${actor!.id}` : '00000000-0000-4000-8000-000000000000';",
    test: ONCE,
    title: 'is each caller’s own, and each path’s own',
  },
  {
    refuses: 'the answer of another path under the same key',
    file: KEYS,
    text: 'path: path.slice(0, 500), key }',
    without: 'path: path.slice(0, 5), key }',
    test: ONCE,
    title: 'is each caller’s own, and each path’s own',
  },
  {
    refuses: 'the answer to a trial for the import itself',
    file: 'api/http/middleware/idempotency.ts',
    text: 'const content = Object.keys(beside).length > 0 ?',
    without: 'const content = Object.keys(beside).length > 100 ?',
    test: ONCE,
    title: 'an import that was tried is not taken for done',
  },
  {
    refuses: 'the answer for another site',
    file: 'api/http/middleware/idempotency.ts',
    text: '...(state.siteId && { site_id: state.siteId }),',
    without: '',
    test: ONCE,
    title: 'a site that a header names is no other one, nor none',
  },
  {
    refuses: 'subtrees from which no checkpoint can follow',
    file: VERIFY,
    text: 'if (!treeAt(checkpoint)) return',
    without: 'if (rows < 0 && !treeAt(checkpoint)) return',
    test: UNSIGNED,
    title: 'is verified as well: subtrees of other records',
  },
  {
    refuses: 'a public key with a checkpoint that another one signed',
    file: VERIFY,
    text: 'if (!isKeyOf(checkpoint))',
    without: 'if (rows < 0 && !isKeyOf(checkpoint))',
    test: UNSIGNED,
    title: 'is verified as well: another public key',
  },
  {
    refuses: 'the head of a chain for another study',
    file: VERIFY,
    text: "if (kept && (kept.study_id ?? 'service') !== chain)",
    without: "if (kept && kept.seq < 0 && (kept.study_id ?? 'service') !== chain)",
    test: UNSIGNED,
    title: 'is verified as well: a head without its study',
  },
];
