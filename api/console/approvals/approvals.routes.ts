import { h } from 'preact';
import { approvalById } from '../../../db/anchor/override-requests.queries.js';
import { decideOnOverride } from '../../anchor/override-decisions.service.js';
import { inStudy, withNote } from '../../http/access.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import { brokenRule, problem } from '../../http/errors.js';
import type { Problem } from '../../http/errors.js';
import { errorOf } from '../html/form.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { proofErrorOf, proofOf } from '../routing/proof.js';
import { refusalText } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { ApprovalPage } from './approval.page.js';
import type { ApprovalDecision } from './approval.page.js';
import { loadApproval } from './approvals.service.js';

const path = '/console/approvals/{request_id}';

/** The page's message for a refused decision. */
function saidOf({ words }: Ui, fault: Problem, reason: string): ApprovalDecision {
  if (fault.code === 'PREVIEW_STALE') return { said: 'stale' };
  if (fault.code === 'NOT_PENDING') return { said: 'already' };
  const proofError = proofErrorOf(words, fault);
  if (proofError) return { proofError };
  const reasonError = errorOf(fault, 'reason', words);
  if (reasonError) return { reasonError: reason.trim() === '' ? words.approval.reasonNeeded : reasonError };
  if (fault.code === 'SELF_APPROVAL') return { refused: words.approval.own };
  if (fault.code === 'FORBIDDEN') return { refused: words.approval.notApprover };
  return { refused: refusalText(words, fault) };
}

export const approvalPages = [
  consolePage({
    path,
    summary: 'Show a change of an enrollment date that waits for an approval',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ decided: Type.Optional(Type.String()) }),
    view: async ({ tx, actor, params, query, services, ui }) => {
      const view = await loadApproval(tx, actor, services.settings, params.request_id);
      const decision: ApprovalDecision =
        query.decided !== undefined && view.state !== 'pending' ? { said: 'done' } : {};
      return { title: ui.words.approval.title, content: h(ApprovalPage, { view, decision }) };
    },
  }),
  consoleForm({
    path,
    summary: 'Approve or deny a change of an enrollment date',
    access: withNote(inStudy(), 'and the policy’s override_approver_roles, but not who asked'),
    fields: Type.Object({
      reason: text(2000),
      decision: oneOf('approve', 'deny'),
      preview_hash: text(64, 1),
      proof_password: Type.Optional(text(1000)),
    }),
    submit: async ({ services, actor, context, credential, requestKey, params, form, read, ui }) => {
      const requestId = params.request_id.toLowerCase();
      const request = await read((tx) => approvalById(tx, requestId));
      if (!request) throw problem('NOT_FOUND', { detail: 'There is no such request.' });
      const reason = form.get('reason')!.trim();
      if (reason === '' && request.status === 'pending')
        throw brokenRule('reason', 'REASON_REQUIRED', ui.words.approval.reasonNeeded);
      await decideOnOverride(
        services,
        { actor, context, requestKey },
        {
          studyId: request.study_id,
          participantId: request.participant_id,
          requestId,
          decision: form.get('decision') === 'approve' ? 'approve' : 'deny',
          reason: reason || null,
          previewHash: form.get('preview_hash'),
          proof: proofOf(form.get('proof_password'), credential),
          via: 'page',
        },
      );
      return redirect(`/console/approvals/${requestId}?decided=1`);
    },
    again: async ({ read, params, services, form, fault, ui }) => {
      const seen = fault.code === 'PREVIEW_STALE' ? form.get('shown') : null;
      const view = await read((tx, actor) => loadApproval(tx, actor, services.settings, params.request_id, seen));
      const reason = form.get('reason') ?? '';
      const decision = { ...saidOf(ui, fault, reason), reason };
      return { title: ui.words.approval.title, content: h(ApprovalPage, { view, decision }) };
    },
  }),
];
