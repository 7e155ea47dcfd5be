import { Readable } from 'node:stream';
import { makeCheckpoints, statedOnly } from '../../db/audit/audit-checkpoints.js';
import { exportLines } from '../../db/audit/audit-export.js';
import { CheckpointFolder } from '../../db/audit/audit-folder.js';
import { trustedKeys } from '../../db/audit/checkpoint-trust.js';
import { recordBySeq } from '../../db/audit/audit-records.js';
import { auditSigner } from '../../db/audit/audit-signing.js';
import type { AuditSigner, Checkpoint } from '../../db/audit/audit-signing.js';
import { allChains, verifyChain } from '../../db/audit/audit-verify.js';
import type { ChainReport, CheckpointTrust } from '../../db/audit/audit-verify.js';
import { Proofs } from '../../db/audit/merkle.js';
import { hasChain, listAudit } from '../../db/audit/audit.queries.js';
import type { AuditFilter } from '../../db/audit/audit.queries.js';
import {
  chainHashes,
  checkpointById,
  checkpointCovering,
  listCheckpoints,
} from '../../db/audit/audit-checkpoints.queries.js';
import type { StoredCheckpoint } from '../../db/audit/audit-checkpoints.queries.js';
import { withStudyScope, readInScope, withFileLimits } from '../../db/client/transaction.js';
import { checkpointFolder } from '../../settings.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { rangeEnd, rangeStart } from '../http/conventions/time-range.js';
import { ConcurrencyLimiter } from '../util/concurrency-limiter.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** @throws 503 without AUDIT_SIGNING_KEY */
export function signer({ settings }: Dependencies): AuditSigner {
  if (settings.AUDIT_SIGNING_KEY === undefined)
    throw problem('UNAVAILABLE', { detail: 'AUDIT_SIGNING_KEY is not set: nothing can be signed.' });
  return auditSigner(settings.AUDIT_SIGNING_KEY);
}

const folderOf = ({ settings }: Dependencies): CheckpointFolder => new CheckpointFolder(checkpointFolder(settings));

async function outside(services: Dependencies, only: string | undefined): Promise<CheckpointTrust> {
  const folder = folderOf(services);
  const own = services.settings.AUDIT_SIGNING_KEY === undefined ? undefined : signer(services);
  return { checkpoints: await folder.readAll(only), keys: await trustedKeys(folder, own) };
}

/** @throws 404 for a study that never existed */
export async function requireChain(tx: Tx, studyId: string | undefined): Promise<void> {
  if (studyId !== undefined && !(await hasChain(tx, studyId)))
    throw problem('NOT_FOUND', { detail: 'There is no such study.' });
}

/** Audit records that match a filter, newest first. @throws 404 for a study that never existed */
export async function auditRecords(tx: Tx, { from, to, ...filter }: AuditFilter) {
  await requireChain(tx, filter.study_id);
  return listAudit(tx, { ...filter, from: from && rangeStart(from), to: to && rangeEnd(to) });
}

/** Checkpoints of a chain, or of all, newest first. @throws 404 for a study that never existed */
export async function checkpoints(tx: Tx, chain: string | undefined, page: { skip: number; limit: number }) {
  await requireChain(tx, chain);
  return listCheckpoints(tx, { chain, ...page });
}

/**
 * Recomputes a chain, or all of them, and compares it with the checkpoints in the database and outside. The chains are
 * read in one snapshot, and completely, whatever else the request names.
 * @throws 404 for a study that never existed
 */
export const verify = (services: Dependencies, studyId: string | undefined) =>
  verifications.run(async () => {
    const where = await outside(services, studyId);
    return readInScope(services.database, '*', async (tx) => {
      await withFileLimits(tx);
      return verdict(tx, studyId, where);
    });
  });
/** Each holds a connection for as long as it reads; the others wait without one. */
const verifications = new ConcurrencyLimiter(3);

async function verdict(tx: Tx, studyId: string | undefined, where: CheckpointTrust) {
  if (studyId) {
    if (!where.checkpoints.has(studyId)) await requireChain(tx, studyId);
    const { chain: _chain, ...report } = await verifyChain(tx, studyId, where);
    return report;
  }
  const reports: ChainReport[] = [];
  for (const chain of await allChains(tx, where)) reports.push(await verifyChain(tx, chain, where));
  const bad = reports.find((report) => !report.valid);
  const sum = (count: 'rows' | 'checkpoints') => reports.reduce((n, report) => n + report[count], 0);
  return {
    valid: !bad,
    rows: sum('rows'),
    head: null,
    checkpoints: sum('checkpoints'),
    chains: reports.length,
    ...(bad && { first_bad_id: bad.first_bad_id, fault: bad.fault }),
  };
}

/** Without the witness, which only a verifier needs, and without columns for the next checkpoint. */
const shown = ({ id, ...checkpoint }: Checkpoint & { id: string }) => {
  const { witness: _witness, ...stated } = statedOnly(checkpoint);
  return { id, ...stated };
};

const requireChainNow = ({ database }: Dependencies, studyId: string | undefined) =>
  readInScope(database, '*', (tx) => requireChain(tx, studyId));

/**
 * Signs every chain that grew, or one. The request has its own audit record, which the checkpoint includes.
 * @throws 404 for a study that never existed, 409 AUDIT_BROKEN when a chain differs from its last checkpoint: that one
 * is not signed
 */
export async function checkpointNow(
  services: Dependencies,
  actor: Actor,
  context: RequestContext,
  studyId: string | undefined,
) {
  const key = signer(services);
  await requireChainNow(services, studyId);
  await withStudyScope(services.database, '*', async ({ audit }) =>
    audit.record({
      ...auditActor(actor, context),
      study_id: null,
      action: 'audit_checkpoint_requested',
      resource_type: 'audit_checkpoint',
      resource_id: studyId ?? null,
    }),
  );
  const { made, faults } = await makeCheckpoints(
    services.database,
    { signer: key, folder: folderOf(services) },
    studyId,
  );
  if (faults.length > 0) {
    throw problem('AUDIT_BROKEN', {
      errors: faults.map(({ first_bad_id, fault }) => ({ path: first_bad_id, code: 'AUDIT_BROKEN', message: fault })),
      extra: { items: made.map(shown) },
    });
  }
  return { items: made.map(shown), total: made.length };
}

/**
 * Proves a record's place in the log: its hash, and the path from it to the root of a signed checkpoint. @throws 404,
 * 409 NOT_CHECKPOINTED
 */
export async function inclusionProof(
  tx: Tx,
  named: string,
  studyId: string | undefined,
  checkpointId: string | undefined,
) {
  const [chain, seq] = place(named, studyId);
  const record = await recordBySeq(tx, chain, seq);
  if (!record) throw problem('NOT_FOUND', { detail: 'There is no such audit record.' });
  const checkpoint = checkpointId
    ? await getCheckpointOrThrow(tx, checkpointId)
    : await checkpointCovering(tx, chain, seq);
  if (!checkpoint) throw problem('NOT_CHECKPOINTED');
  if (checkpoint.chain !== chain || checkpoint.rows < seq)
    throw problem('NOT_CHECKPOINTED', { detail: 'That checkpoint does not cover the record.' });
  const path = await (await proofsOf(tx, chain, checkpoint.rows)).inclusion(seq - 1);
  return {
    record,
    inclusion: { leaf_index: seq - 1, tree_size: checkpoint.rows, path: hex(path) },
    checkpoint: whole(checkpoint),
  };
}

/**
 * Proves that the records of one checkpoint are the beginning of a later one's. @throws 404, 400 for two in another
 * order
 */
export async function consistencyProof(tx: Tx, id: string, fromId: string) {
  const [to, from] = [await getCheckpointOrThrow(tx, id), await getCheckpointOrThrow(tx, fromId)];
  if (to.chain !== from.chain || from.rows > to.rows)
    throw problem('RULE_VIOLATED', { detail: 'from must be an earlier checkpoint of the same chain.' });
  const path = await (await proofsOf(tx, to.chain, to.rows)).consistency(from.rows);
  return {
    consistency: { first_size: from.rows, second_size: to.rows, path: hex(path) },
    from: whole(from),
    checkpoint: whole(to),
  };
}

/**
 * Starts the export, which reads in batches as its lines are consumed. The requester is recorded first, in the exported
 * chain. @throws 404 for a study that never existed
 */
export async function exportAudit(
  services: Dependencies,
  actor: Actor,
  context: RequestContext,
  studyId: string | undefined,
): Promise<Readable> {
  await requireChainNow(services, studyId);
  await withStudyScope(services.database, '*', async ({ audit }) =>
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId ?? null,
      action: 'audit_exported',
      resource_type: 'audit_log',
      resource_id: null,
    }),
  );
  return Readable.from(exportLines(services.database, folderOf(services), studyId), { objectMode: false });
}

const hex = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('hex'));
const proofsOf = async (tx: Tx, chain: string, size: number): Promise<Proofs> =>
  new Proofs({ data: await chainHashes(tx, chain, size), size });
/** A checkpoint with everything that its signature covers. */
const whole = (checkpoint: StoredCheckpoint) => ({ id: checkpoint.id, ...statedOnly(checkpoint) });

async function getCheckpointOrThrow(tx: Tx, id: string): Promise<StoredCheckpoint> {
  const found = await checkpointById(tx, id);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such checkpoint.' });
  return found;
}

/** `chain/seq`, or a number in the chain of the context's study, else of the service. */
function place(named: string, studyId: string | undefined): [chain: string, seq: number] {
  const [, chain, seq] = /^(?:(service|[0-9a-f-]{36})\/)?([1-9][0-9]{0,14})$/.exec(named.toLowerCase()) ?? [];
  if (seq === undefined)
    throw problem('NOT_FOUND', {
      detail: 'There is no such audit record: name it as chain/seq (the slash written %2F), or by its seq.',
    });
  return [chain ?? studyId ?? 'service', Number(seq)];
}
