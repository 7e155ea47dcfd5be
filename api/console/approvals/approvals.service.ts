import { approvalWithFacts } from '../../../db/anchor/override-requests.queries.js';
import type { Approval } from '../../../db/anchor/override-requests.queries.js';
import { nowMs } from '../../../db/client/clock.js';
import type { Tx } from '../../../db/client/database.js';
import { approverRoles } from '../../../workflows/domain/anchor/approvers.js';
import { policyOf } from '../../../workflows/domain/anchor/facts.js';
import type { Settings } from '../../../settings.js';
import { previewOverride } from '../../anchor/anchors.service.js';
import { Problem, problem } from '../../http/errors.js';
import type { Actor } from '../../http/access.js';

export interface ApprovalVisitChange {
  visit_key: string;
  name: string;
  action: string;
  from?: string;
  to?: string;
  notes?: string[];
  /** It differs from what the reader saw before. */
  changed?: boolean;
}

/** The data of an approval's page. */
export interface ApprovalView {
  approval: Approval;
  state: 'pending' | 'expired' | 'approved' | 'denied';
  /** Why the caller cannot decide; undefined: they can. */
  cannot?: 'own' | 'not_approver';
  visits: ApprovalVisitChange[];
  /** The caller has decided it. */
  decidedByCaller: boolean;
  /** Names of visits that were affected before but are no longer. */
  removed: string[];
  warnings: string[];
  /** Hash of the displayed preview; a decision echoes it. */
  previewHash: string;
  /** Whether anything differs from what the reader saw. */
  differs: boolean;
  /** Why the change currently cannot be approved. */
  impossible?: Problem;
  /** A decision requires password or code again. */
  asksAgain: boolean;
}

/** The preview that a form showed its reader: one line for each visit. */
export const seenOf = (visits: readonly ApprovalVisitChange[]): string =>
  JSON.stringify(visits.map((visit) => [visit.visit_key, visit.name, lineOf(visit)]));
const lineOf = ({ action, from = '', to = '' }: ApprovalVisitChange): string => `${action} ${from} ${to}`;

function seenIn(text: string | null): Map<string, { name: string; line: string }> | undefined {
  if (text === null) return undefined;
  try {
    const rows = JSON.parse(text) as [string, string, string][];
    return new Map(rows.map(([key, name, line]) => [key, { name, line }]));
  } catch (fault) {
    // Only this page writes it: if it is invalid, nothing is marked.
    if (fault instanceof SyntaxError || fault instanceof TypeError) return undefined;
    throw fault;
  }
}

/**
 * An approval with the current preview.
 * @param seen what the reader was shown before; null: the request's own preview
 * @throws 404
 */
export async function loadApproval(
  tx: Tx,
  actor: Actor,
  settings: Settings,
  id: string,
  seen: string | null = null,
): Promise<ApprovalView> {
  const found = await approvalWithFacts(tx, id);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such request.' });
  const { approval, facts } = found;
  const state = stateOf(approval);
  const stored = { ...approval.impact, visits: approval.impact.visits ?? [], warnings: approval.impact.warnings ?? [] };
  const common = {
    approval,
    state,
    decidedByCaller: approval.decided_by_id === actor.id,
    asksAgain: found.asksAgain ?? settings.production,
  };
  const asIs = { visits: stored.visits, warnings: stored.warnings, previewHash: stored.preview_hash, removed: [] };
  if (state !== 'pending') return { ...common, ...asIs, differs: false };
  const isApprover = approverRoles(policyOf(facts.policy)).includes(actor.role);
  const cannot: ApprovalView['cannot'] =
    approval.asker_id === actor.id ? 'own' : isApprover ? undefined : 'not_approver';
  const allowed = { ...common, ...(cannot && { cannot }) } as const;
  try {
    const { participant_id, new_enrollment_date, regenerate_schedule, asker_id } = approval;
    const now = await previewOverride(
      tx,
      participant_id,
      new_enrollment_date,
      regenerate_schedule,
      asker_id ?? actor.id,
      facts,
    );
    const before = seenIn(seen) ?? seenIn(seenOf(stored.visits))!;
    const visits = now.visits.map((visit) => ({
      ...visit,
      changed: before.get(visit.visit_key)?.line !== lineOf(visit),
    }));
    const keys = new Set(visits.map(({ visit_key }) => visit_key));
    const removed = [...before].filter(([key]) => !keys.has(key)).map(([, { name }]) => name);
    const differs = removed.length > 0 || visits.some(({ changed }) => changed);
    return { ...allowed, visits, removed, warnings: now.warnings, previewHash: now.preview_hash, differs };
  } catch (fault) {
    if (!(fault instanceof Problem) || fault.status >= 500) throw fault;
    return { ...allowed, ...asIs, differs: false, impossible: fault };
  }
}

function stateOf({ status, expires_at, decided_by_id, decision_reason }: Approval): ApprovalView['state'] {
  if (status === 'pending') return new Date(expires_at).getTime() <= nowMs() ? 'expired' : 'pending';
  if (status === 'approved') return 'approved';
  // The workflow denies it at its deadline.
  return decided_by_id === null && decision_reason === 'expired' ? 'expired' : 'denied';
}
