import type { Client } from '@temporalio/client';
import { pendingWork, requeue } from '../../db/outbox/pending-work.queries.js';
import type { OpenWork } from '../../db/outbox/pending-work.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import * as contract from '../../workflows/contract.js';
import type { Database } from '../../db/client/database.js';

const PAGE = 1000;
const { workflowTypes } = contract;

/** The workflow of each kind of work. */
const workflowByTopic: Partial<Record<OpenWork['topic'], { type: string; id: (work: OpenWork) => string }>> = {
  trigger: { type: workflowTypes.datacaptureTrigger, id: ({ key }) => contract.datacaptureTriggerId(key) },
  export: { type: workflowTypes.studyExport, id: ({ key }) => contract.studyExportId(key) },
  simulation: { type: workflowTypes.studySimulation, id: ({ key }) => contract.studySimulationId(key) },
  'datacapture-sync': { type: workflowTypes.datacaptureSync, id: ({ key }) => contract.datacaptureSyncId(key) },
  'study-changed': {
    type: workflowTypes.studyReanchoring,
    id: ({ study_id, key }) => contract.studyReanchoringId(study_id!, key),
  },
  'audit-verification': {
    type: workflowTypes.auditVerification,
    id: ({ key }) => contract.auditVerificationId(key),
  },
};

/**
 * Restarts the workflows of open work that has none: they were terminated by hand, or Temporal lost its database.
 * Temporal is only queried if there is open work, once for each type.
 * @param olderSeconds younger work may still be in the outbox; 0 if Temporal is known to have lost everything
 */
export async function restartLostWorkflows(
  deps: { database: Database; client: Client },
  olderSeconds: number,
): Promise<number> {
  const open = await withStudyScope(deps.database, '*', ({ tx }) => pendingWork(tx, olderSeconds));
  const running = new Set<string>();
  for (const type of new Set(open.map(({ topic }) => workflowByTopic[topic]!.type))) {
    for await (const { workflowId } of deps.client.workflow.list({
      query: `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`,
      pageSize: PAGE,
    }))
      running.add(workflowId);
  }
  const lost = open.filter((work) => !running.has(workflowByTopic[work.topic]!.id(work)));
  if (lost.length > 0) await withStudyScope(deps.database, '*', ({ tx }) => requeue(tx, lost));
  return lost.length;
}
