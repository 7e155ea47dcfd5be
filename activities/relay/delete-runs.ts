import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

/** The list of runs follows what happens by about a second, and a deletion is carried out after it is taken. */
const LOOKS = 10;
const BETWEEN_MS = 500;

/**
 * Deletes every run of a workflow that is over, with its history.
 * @throws Error while one runs still, or is still listed: whoever delivers this tries again later
 */
export async function deleteRuns(client: Client, workflowId: string): Promise<void> {
  const { namespace } = client.options;
  for (let look = 0; look < LOOKS; look += 1) {
    if (look > 0) await sleep(BETWEEN_MS);
    let listed = 0;
    for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      listed += 1;
      if (run.status.name === 'RUNNING') continue;
      await client.workflowService.deleteWorkflowExecution({
        namespace,
        workflowExecution: { workflowId, runId: run.runId },
      });
    }
    if (listed === 0) return;
  }
  throw new Error('runs of the workflow are there still');
}
