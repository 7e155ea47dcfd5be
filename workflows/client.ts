import { isGrpcServiceError, WithStartWorkflowOperation, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { ApplicationFailure, defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import * as contract from './contract.js';
import type { AnchorOutcome, Evaluate, ParticipantAnchorStart, Sender } from './contract.js';
import { ConcurrencyLimiter, QueueTimeoutError } from './util/concurrency-limiter.js';

const studyId = defineSearchAttributeKey('StudyId', SearchAttributeType.KEYWORD);
const siteId = defineSearchAttributeKey('SiteId', SearchAttributeType.KEYWORD);

/** The deadline of a call that is made now: gRPC holds it against this machine's clock at once. */
export const deadlineIn = (milliseconds: number): number => Date.now() + milliseconds;

/** What operators see of a run from its start on, and find it by. A job of all studies names none. */
export const workflowMetadata = (summary: string, study: string | null) => ({
  staticSummary: summary,
  staticDetails: study === null ? 'all studies' : `study ${study}`,
  ...(study !== null && { typedSearchAttributes: [{ key: studyId, value: study }] }),
});

export interface Participant {
  participant_id: string;
  study_id: string;
  site_id?: string | null;
}
type AnchorUpdate =
  | typeof contract.setEnrollmentDate
  | typeof contract.requestOverride
  | typeof contract.cancelProposal
  | typeof contract.overrideBack
  | typeof contract.decideOverride
  | typeof contract.evaluate;

/**
 * The answer did not come in time: the message may still be carried out, and a repeat with the same id finds what it
 * came to.
 */
export class AnchorUpdateTimeoutError extends Error {}

/**
 * How the API, the relay and the capture path talk to a participant's workflow, which is started where it does not run.
 */
export interface AnchorClient {
  /** Sends an update and waits for what came of it. @throws AnchorUpdateTimeoutError when no worker answers in time. */
  update(definition: AnchorUpdate, participant: Participant, message: object, updateId: string): Promise<AnchorOutcome>;
  evaluate(participantId: string, studyId: string, command: Evaluate, updateId: string): Promise<AnchorOutcome>;
  start(participant: Participant): Promise<void>;
  sourcesChanged(participant: Participant, sender: Sender): Promise<void>;
  withdrawn(participant: Participant, sender: Sender): Promise<void>;
  reinstated(participant: Participant, sender: Sender): Promise<void>;
}

/**
 * Updates of one participant in flight from one process. The server holds ten of a workflow at a time; one more is not
 * only refused, it drops the others, which come again: 200 writers on one participant never came to an end. Four from
 * each of two processes stay below it and still share a workflow task (60 writers: 11 s with two, 8 s with four).
 */
const MAX_UPDATES_IN_FLIGHT = 4;

/**
 * How long a worker may hold a participant's task before another one has it. A worker that goes takes the task with it
 * that was just on its way: whoever asked waits for so long, and less than for REQUEST_TIMEOUT_SECONDS. A local
 * activity that takes longer says that it lives.
 */
const TASK_TIMEOUT = '5s' as const;

export interface AnchorClientOptions {
  taskQueue: string;
  timeoutSeconds: number;
  /** The client shares its connection with a worker, which takes a new run at once. */
  eager?: boolean;
}

export function createAnchorClient(
  client: Client,
  { taskQueue, timeoutSeconds, eager = false }: AnchorClientOptions,
): AnchorClient {
  const limiter = new ConcurrencyLimiter(MAX_UPDATES_IN_FLIGHT);
  const startOptions = (participant: Participant) => ({
    workflowId: contract.participantAnchorId(participant.participant_id),
    taskQueue,
    args: [startOf(participant)] as [ParticipantAnchorStart],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    workflowTaskTimeout: TASK_TIMEOUT,
    ...workflowMetadata('anchor date of one participant', participant.study_id),
    typedSearchAttributes: [
      { key: studyId, value: participant.study_id },
      ...(participant.site_id ? [{ key: siteId, value: participant.site_id }] : []),
    ],
  });

  const update = async (
    definition: AnchorUpdate,
    participant: Participant,
    message: object,
    updateId: string,
  ): Promise<AnchorOutcome> => {
    // By a clock that does not jump: nobody waits for an hour because this machine's was set back.
    const deadline = performance.now() + timeoutSeconds * 1000;
    try {
      return await limiter.run(participant.participant_id, deadline, () =>
        sendUntil(deadline, definition, participant, message, updateId),
      );
    } catch (fault) {
      if (fault instanceof QueueTimeoutError || isUnanswered(fault) || wasNotTaken(fault))
        throw new AnchorUpdateTimeoutError("the participant's workflow gave no answer in time", { cause: fault });
      throw fault;
    }
  };

  const sendUntil = async (
    deadline: number,
    definition: AnchorUpdate,
    participant: Participant,
    message: object,
    updateId: string,
  ): Promise<AnchorOutcome> => {
    for (let wait = 20; ; wait = Math.min(wait * 2, 500)) {
      try {
        // The operation object serves one call only.
        return await client.withDeadline(deadlineIn(deadline - performance.now()), () =>
          client.workflow.executeUpdateWithStart(definition as typeof contract.evaluate, {
            args: [message],
            updateId,
            startWorkflowOperation: new WithStartWorkflowOperation(
              contract.workflowTypes.participantAnchor,
              startOptions(participant),
            ),
          }),
        );
      } catch (fault) {
        // The run was lost or ended before it answered: the message goes out again, and its id makes it happen once.
        if (!wasNotTaken(fault) || performance.now() + wait >= deadline) throw fault;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  };

  const signal = async (definition: typeof contract.sourcesChanged, participant: Participant, sender: Sender) => {
    await client.workflow.signalWithStart(contract.workflowTypes.participantAnchor, {
      ...startOptions(participant),
      signal: definition,
      signalArgs: [sender],
    });
  };

  return {
    update,
    evaluate: (participantId, study, command, updateId) =>
      update(contract.evaluate, { participant_id: participantId, study_id: study }, command, updateId),
    start: async (participant) => {
      await client.workflow.start(contract.workflowTypes.participantAnchor, {
        ...startOptions(participant),
        requestEagerStart: eager,
      });
    },
    sourcesChanged: (participant, sender) => signal(contract.sourcesChanged, participant, sender),
    reinstated: (participant, sender) => signal(contract.reinstated, participant, sender),
    withdrawn: async (participant, sender) => {
      // A workflow that is not there has nothing to end.
      try {
        await client.workflow
          .getHandle(contract.participantAnchorId(participant.participant_id))
          .signal(contract.withdrawn, sender);
      } catch (fault) {
        if (!(fault instanceof WorkflowNotFoundError)) throw fault;
      }
    },
  };
}

const startOf = ({ participant_id, study_id, site_id }: Participant): ParticipantAnchorStart => ({
  participant_id,
  study_id,
  site_id: site_id ?? null,
});

const NOT_FOUND = 5,
  FAILED_PRECONDITION = 9,
  ABORTED = 10;
/**
 * Types of the failures by which the server tells that a run closed over an accepted update, or that a worker under
 * load let one fall.
 */
const DROPPED_UPDATE_TYPES = ['AcceptedUpdateCompletedWorkflow', 'UnprocessedUpdate'];
/** The run that the message went to is over, was just ending (its last task was refused) or did not look at it. */
function wasNotTaken(fault: unknown): boolean {
  for (let cause: unknown = fault; cause instanceof Error; cause = cause.cause) {
    if (
      cause instanceof WorkflowNotFoundError ||
      (cause instanceof ApplicationFailure && DROPPED_UPDATE_TYPES.includes(cause.type ?? ''))
    )
      return true;
    if (isGrpcServiceError(cause) && [NOT_FOUND, FAILED_PRECONDITION, ABORTED].includes(cause.code)) return true;
  }
  return false;
}

const CANCELLED = 1,
  DEADLINE_EXCEEDED = 4,
  RESOURCE_EXHAUSTED = 8,
  UNAVAILABLE = 14;
/** No answer, which says nothing of whether the message arrived. */
function isUnanswered(fault: unknown): boolean {
  for (let cause: unknown = fault; cause instanceof Error; cause = cause.cause) {
    if (
      isGrpcServiceError(cause) &&
      [CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE].includes(cause.code)
    )
      return true;
    if (cause.name === 'WorkflowUpdateRPCTimeoutOrCancelledError') return true;
  }
  return false;
}
