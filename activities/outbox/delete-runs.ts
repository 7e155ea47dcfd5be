import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';

const NOT_FOUND = 5;

/**
 * Requests the deletion of every run of a workflow with its history. The server deletes them asynchronously.
 * @throws Error while one is running, or listed as running: the relay retries later
 */
export async function deleteRuns(client: Client, workflowId: string): Promise<void> {
  const runs = new Map<string, boolean>();
  for await (const { runId, status } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
    runs.set(runId, status.name === 'RUNNING');
  const latest = await latestRun(client, workflowId);
  if (latest) runs.set(latest.runId, latest.running);
  for (const [runId, running] of runs) if (!running) await deleteRun(client, workflowId, runId);
  if ([...runs.values()].includes(true)) throw new Error('a run of the workflow is there still');
}

/** The latest run. The list may lack it: visibility is about a second behind. */
async function latestRun(client: Client, workflowId: string): Promise<{ runId: string; running: boolean } | undefined> {
  try {
    const { runId, status } = await client.workflow.getHandle(workflowId).describe();
    return { runId, running: status.name === 'RUNNING' };
  } catch (fault) {
    if (fault instanceof WorkflowNotFoundError) return undefined;
    throw fault;
  }
}

async function deleteRun(client: Client, workflowId: string, runId: string): Promise<void> {
  try {
    await client.workflowService.deleteWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId, runId },
    });
  } catch (fault) {
    // It may be deleted already, but still listed.
    if (!isGrpcServiceError(fault) || fault.code !== (NOT_FOUND as typeof fault.code)) throw fault;
  }
}
