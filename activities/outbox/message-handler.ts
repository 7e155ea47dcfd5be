import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { OpenChange } from '../../db/outbox/pending-work.queries.js';
import { inCarriedTrace } from '../../db/client/trace-context.js';
import { workflowMetadata } from '../../workflows/client.js';
import type { AnchorClient } from '../../workflows/client.js';
import * as contract from '../../workflows/contract.js';
import { kindOf } from '../../db/outbox/claims.queries.js';
import { deleteRuns } from './delete-runs.js';
import type { MessageHandler } from './queue.js';

/** A completed workflow is not repeated; a terminated or failed one may be started again. */
const AGAIN = 'ALLOW_DUPLICATE_FAILED_ONLY';

/**
 * Maps each kind of message to Temporal calls. `eager`: the client shares its connection with a worker, which gets a
 * new run at once.
 */
export function createMessageHandler(deps: {
  client: Client;
  anchors: AnchorClient;
  taskQueue: string;
  eager?: boolean;
  unsigned?: 'accept' | 'refuse';
  sendNotification: (id: string) => Promise<void>;
  sendUserLink: (id: string, asked?: string) => Promise<void>;
  sendAccountNotice: (id: string) => Promise<void>;
  setPoll: (studyId: string) => Promise<void>;
  noteChange: (change: OpenChange) => Promise<void>;
  closeChange: (change: OpenChange) => Promise<void>;
}): MessageHandler {
  return (message) =>
    inCarriedTrace(message.payload, async () => {
      const { id, topic, study_id, subject, payload } = message;
      const participant = {
        participant_id: subject,
        study_id: study_id!,
        site_id: (payload.site_id as string | undefined) ?? null,
      };
      const sender = {
        // Only the API signs on behalf of persons: if signatures are required, a relay message has no person.
        actor_user_id: deps.unsigned === 'refuse' ? null : ((payload.actor_user_id as string | undefined) ?? null),
        request_id: (payload.request_id as string | undefined) ?? null,
      };
      switch (topic) {
        case 'participant-start':
          return deps.anchors.start(participant);
        case 'sources-changed':
          return deps.anchors.sourcesChanged(participant, sender);
        case 'participant-withdrawn':
          return deps.anchors.withdrawn(participant, sender);
        case 'participant-reinstated':
          return deps.anchors.reinstated(participant, sender);
        case 'participant-erased':
          return deleteRuns(deps.client, contract.participantAnchorId(subject));
        case 'trigger': {
          // An immediate retry of a failed run may meet that run shortly before it closes: it waits for its end.
          const isRetry = Number(payload.attempt ?? 0) > 0;
          return void (await deps.client.workflow.start(contract.workflowTypes.datacaptureTrigger, {
            workflowId: contract.datacaptureTriggerId(subject),
            taskQueue: deps.taskQueue,
            args: [{ event_id: subject, study_id: study_id!, local_first: true }],
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
            workflowIdConflictPolicy: isRetry ? 'FAIL' : 'USE_EXISTING',
            ...workflowMetadata('data-entry trigger', study_id),
            requestEagerStart: deps.eager === true,
          }));
        }
        case 'study-changed': {
          const change = {
            study_id: study_id!,
            change_id: String(payload.change_id ?? id),
            kind: kindOf(message),
            actor_user_id: (payload.actor_user_id as string | undefined) ?? null,
          };
          // Before only Temporal has it.
          await deps.noteChange(change);
          const workflowId = contract.studyReanchoringId(change.study_id, change.change_id);
          return startOnce(
            () =>
              deps.client.workflow.start(contract.workflowTypes.studyReanchoring, {
                workflowId,
                taskQueue: deps.taskQueue,
                args: [change],
                workflowIdReusePolicy: AGAIN,
                ...workflowMetadata(`re-anchoring after a change of ${change.kind}`, study_id),
              }),
            // Delivered before: if it was applied since, this has noted it once more, and no run would close it.
            async () => {
              const { status } = await deps.client.workflow.getHandle(workflowId).describe();
              if (status.name === 'COMPLETED') await deps.closeChange(change);
            },
          );
        }
        // A running push is signalled; an ended one is started again.
        case 'push':
          await deps.client.workflow.signalWithStart(contract.workflowTypes.pushResults, {
            workflowId: contract.pushResultsId(subject),
            taskQueue: deps.taskQueue,
            args: [{ session_id: subject, study_id: study_id! }],
            signal: contract.pushNow,
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
            ...workflowMetadata('results of one session to the capture system', study_id),
          });
          return;
        case 'notification':
          return deps.sendNotification(subject);
        case 'user-link':
          return payload.notice === true
            ? deps.sendAccountNotice(subject)
            : deps.sendUserLink(subject, payload.language as string | undefined);
        case 'datacapture-sync':
          return startOnce(() =>
            deps.client.workflow.start(contract.workflowTypes.datacaptureSync, {
              workflowId: contract.datacaptureSyncId(subject),
              taskQueue: deps.taskQueue,
              args: [{ sync_id: subject, study_id: study_id! }],
              workflowIdReusePolicy: 'ALLOW_DUPLICATE',
              workflowIdConflictPolicy: 'USE_EXISTING',
              ...workflowMetadata('sync with the capture system', study_id),
            }),
          );
        case 'datacapture-poll':
          return deps.setPoll(subject);
        // Cancelling it while it waits for its file to expire removes the file at once; a new run does if it was lost.
        case 'export':
          if (payload.ended === true)
            await cancelled(() => deps.client.workflow.getHandle(contract.studyExportId(subject)).cancel());
          return startOnce(() =>
            deps.client.workflow.start(contract.workflowTypes.studyExport, {
              workflowId: contract.studyExportId(subject),
              taskQueue: deps.taskQueue,
              args: [{ export_id: subject, study_id: study_id! }],
              workflowIdReusePolicy: AGAIN,
              ...workflowMetadata('export of a dataset', study_id),
            }),
          );
        case 'audit-verification':
          return startOnce(() =>
            deps.client.workflow.start(contract.workflowTypes.auditVerification, {
              workflowId: contract.auditVerificationId(subject),
              taskQueue: deps.taskQueue,
              args: [{ verification_id: subject }],
              workflowIdReusePolicy: AGAIN,
              staticSummary: 'verification of audit chains',
            }),
          );
        case 'simulation':
          return startOnce(() =>
            deps.client.workflow.start(contract.workflowTypes.studySimulation, {
              workflowId: contract.studySimulationId(subject),
              taskQueue: deps.taskQueue,
              args: [{ simulation_id: subject, study_id: study_id! }],
              workflowIdReusePolicy: AGAIN,
              ...workflowMetadata('simulation of a study', study_id),
            }),
          );
        // A delivery resent by hand may have a workflow that waits for a later time: it is signalled.
        case 'event-delivery':
          return void (await deps.client.workflow.signalWithStart(contract.workflowTypes.eventDelivery, {
            workflowId: contract.eventDeliveryId(subject),
            taskQueue: deps.taskQueue,
            args: [{ delivery_id: subject, study_id: study_id! }],
            signal: contract.deliveryChanged,
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
            ...workflowMetadata('repeat the delivery of an event', study_id),
          }));
      }
    });
}

/** An ended or missing run needs no cancelling. */
async function cancelled(cancel: () => Promise<unknown>): Promise<void> {
  try {
    await cancel();
  } catch (fault) {
    if (!(fault instanceof WorkflowNotFoundError)) throw fault;
  }
}

/** @param before called if it was started before: it runs, or has completed */
async function startOnce(start: () => Promise<unknown>, before?: () => Promise<void>): Promise<void> {
  try {
    await start();
  } catch (fault) {
    if (!(fault instanceof WorkflowExecutionAlreadyStartedError)) throw fault;
    await before?.();
  }
}
