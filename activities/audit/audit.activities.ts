import { Context } from '@temporalio/activity';
import { nowIso } from '../../db/client/clock.js';
import { CheckpointFolder } from '../../db/audit/audit-folder.js';
import { trustedKeys } from '../../db/audit/checkpoint-trust.js';
import { GENESIS } from '../../db/audit/audit-records.js';
import { auditSigner } from '../../db/audit/audit-signing.js';
import { allChains, verifyPart } from '../../db/audit/audit-verify.js';
import type { CheckpointTrust } from '../../db/audit/audit-verify.js';
import { noteVerification, recordsOf, verificationById } from '../../db/audit/audit-verifications.queries.js';
import type { VerificationRow, VerificationState } from '../../db/audit/audit-verifications.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { checkpointFolder } from '../../settings.js';
import type { Settings } from '../../settings.js';
import type { AuditVerificationStart } from '../../workflows/contract.js';
import type { Database } from '../../db/client/database.js';

/**
 * Records verified by one transaction, and the time limit of one activity: both are short, so that others do not wait.
 */
const PART = 20_000,
  TURN_MS = 10_000;
const BEGIN = { rows: 0, head: GENESIS };

/** The activity of a background verification. It may be retried at any point: the row has the progress. */
export function createAuditActivities({ database, settings }: { database: Database; settings: Settings }) {
  const folder = new CheckpointFolder(checkpointFolder(settings));
  const own = settings.AUDIT_SIGNING_KEY === undefined ? undefined : auditSigner(settings.AUDIT_SIGNING_KEY);
  /** Read before each part: everything kept outside was committed before. */
  const outside = async (only: string | undefined): Promise<CheckpointTrust> => ({
    checkpoints: await folder.readAll(only),
    keys: await trustedKeys(folder, own),
  });

  async function begin(row: VerificationRow): Promise<VerificationState> {
    const where = await outside(row.chain ?? undefined);
    return withStudyScope(database, '*', async ({ tx }) => {
      const chains = row.chain === null ? await allChains(tx, where) : [row.chain];
      const state: VerificationState = { chains, at: null, checkpoints: 0, head: null, bad: null };
      await noteVerification(tx, row.id, {
        status: 'running',
        state,
        rows_total: await recordsOf(tx, chains),
        chains_total: chains.length,
        started_at: nowIso(),
      });
      return state;
    });
  }

  /** Verifies one part of the first remaining chain and stores the progress and the next part. */
  async function part(row: VerificationRow, state: VerificationState): Promise<void> {
    const [chain, ...others] = state.chains;
    const where = await outside(chain);
    const from = state.at ?? BEGIN;
    const { at, report } = await readInScope(database, '*', (tx) => verifyPart(tx, chain!, from, PART, where));
    row.rows_verified += at.rows - from.rows;
    if (!report) state.at = at;
    else {
      Object.assign(state, {
        chains: others,
        at: null,
        checkpoints: state.checkpoints + report.checkpoints,
        head: report.head,
      });
      row.chains_verified += 1;
      if (!report.valid) state.bad ??= { first_bad_id: report.first_bad_id!, fault: report.fault! };
    }
    await withStudyScope(database, '*', ({ tx }) =>
      noteVerification(tx, row.id, {
        state,
        rows_verified: row.rows_verified,
        rows_total: Math.max(row.rows_total, row.rows_verified),
        chains_verified: row.chains_verified,
      }),
    );
  }

  async function end(row: VerificationRow, { checkpoints, head, bad }: VerificationState): Promise<void> {
    const result = {
      valid: bad === null,
      rows: row.rows_verified,
      head: row.chain === null ? null : head,
      checkpoints,
      ...(row.chain === null && { chains: row.chains_verified }),
      ...bad,
    };
    await withStudyScope(database, '*', async ({ tx, audit }) => {
      if (!(await noteVerification(tx, row.id, { status: 'completed', result, completed_at: nowIso() }))) return;
      audit.record({
        study_id: null,
        user_id: row.requested_by_id,
        action: 'audit_verified',
        resource_type: 'audit_log',
        resource_id: row.chain,
        metadata: { valid: result.valid, rows: result.rows, verification_id: row.id },
      });
    });
  }

  return {
    /** Continues the verification for a while. @returns whether it is complete */
    async verifyAudit({ verification_id }: AuditVerificationStart): Promise<{ done: boolean }> {
      const { cancellationSignal } = Context.current();
      const row = await verificationById(database, verification_id);
      if (!row || row.status === 'completed' || row.status === 'failed') return { done: true };
      const state = row.state ?? (await begin(row));
      const until = performance.now() + TURN_MS;
      while (state.chains.length > 0) {
        if (performance.now() > until || cancellationSignal.aborted) return { done: false };
        await part(row, state);
        Context.current().heartbeat();
      }
      await end(row, state);
      return { done: true };
    },

    async failVerification({ verification_id }: AuditVerificationStart, error: string): Promise<void> {
      await withStudyScope(database, '*', ({ tx }) =>
        noteVerification(tx, verification_id, { status: 'failed', error: error.slice(0, 500), completed_at: nowIso() }),
      );
    },
  };
}
export type AuditActivities = ReturnType<typeof createAuditActivities>;
