import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';

const NOT_FOUND = 5;

/**
 * Has every run of a workflow deleted with its history. The server carries out what it has taken by itself, a little
 * later.
 * @throws Error while one runs still, or is listed so: the relay tries again later
 */
export async function deleteRuns(client: Client, workflowId: string): Promise<void> {
  let running = false;
  for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    if (run.status.name === 'RUNNING') running = true;
    else await deleteRun(client, workflowId, run.runId);
  }
  if (running) throw new Error('a run of the workflow is there still');
}

async function deleteRun(client: Client, workflowId: string, runId: string): Promise<void> {
  try {
    await client.workflowService.deleteWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId, runId },
    });
  } catch (fault) {
    // The list follows what happens by about a second: it may be deleted already.
    if (!isGrpcServiceError(fault) || fault.code !== (NOT_FOUND as typeof fault.code)) throw fault;
  }
}
