import { allChains, verifyChain } from '../../db/audit-verify.js';
import type { ChainReport } from '../../db/audit-verify.js';
import { listAudit } from '../../db/queries/audit.js';
import { roles } from '../access.js';
import { route } from '../route.js';
import { Instant, Type, Uuid, listOf, nullable, paging, text } from '../schemas/common.js';

const Record = Type.Object({
  id: Type.String({ description: 'chain/seq' }), seq: Type.Integer(), chain: Type.String(), study_id: nullable(Uuid), user_id: nullable(Uuid), action: Type.String(), resource_type: Type.String(),
  resource_id: nullable(Type.String()), audit_metadata: Type.Object({}, { additionalProperties: true }), request_id: nullable(Type.String()), created_at: Instant, prev_hash: Type.String(), hash: Type.String(),
}, { $id: 'AuditRecord' });
const Verdict = Type.Object({ valid: Type.Boolean(), rows: Type.Integer(), head: nullable(Type.String()), first_bad_id: Type.Optional(Type.String()), chains: Type.Optional(Type.Integer()) });

export const auditRoutes = [
  route({
    method: 'GET', path: '/api/audit', tag: 'Audit', summary: 'Audit records, newest first', may: roles('admin'), within: 'read',
    query: Type.Object({
      ...paging, study_id: Type.Optional(Uuid), user_id: Type.Optional(Uuid), action: Type.Optional(text(100)), resource_type: Type.Optional(text(60)), resource_id: Type.Optional(text(200)),
      request_id: Type.Optional(text(36)), from: Type.Optional(Instant), to: Type.Optional(Instant),
    }),
    answers: { 200: listOf(Record) }, handle: ({ tx, query }) => listAudit(tx, { ...query, skip: query.skip ?? 0, limit: query.limit ?? 50 }),
  }),
  route({
    method: 'GET', path: '/api/audit/verify', tag: 'Audit', summary: 'Recompute a study’s chain, or every chain', may: roles('admin'), within: 'read',
    query: Type.Object({ study_id: Type.Optional(Uuid) }), answers: { 200: Verdict },
    handle: async ({ tx, query }) => {
      if (query.study_id) {
        const { valid, rows, head, first_bad_id } = await verifyChain(tx, query.study_id);
        return { valid, rows, head, ...(first_bad_id && { first_bad_id }) };
      }
      const reports: ChainReport[] = [];
      for (const chain of await allChains(tx)) reports.push(await verifyChain(tx, chain));
      const bad = reports.find((r) => !r.valid);
      return { valid: !bad, rows: reports.reduce((n, r) => n + r.rows, 0), head: null, chains: reports.length, ...(bad && { first_bad_id: bad.first_bad_id }) };
    },
  }),
];
