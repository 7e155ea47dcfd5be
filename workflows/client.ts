import { isGrpcServiceError, WithStartWorkflowOperation, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { ApplicationFailure, defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import * as contract from './contract.js';
import type { AnchorOutcome, Evaluate, ParticipantAnchorStart, Sender } from './contract.js';
import { KeyedConcurrencyLimiter, QueueTimeoutError } from './util/concurrency-limiter.js';

const studyId = defineSearchAttributeKey('StudyId', SearchAttributeType.KEYWORD);
const siteId = defineSearchAttributeKey('SiteId', SearchAttributeType.KEYWORD);

/** The deadline of a call that starts now: gRPC compares it with this machine's clock at once. */
export const deadlineIn = (milliseconds: number): number => Date.now() + milliseconds;

/** The metadata by which operators see and find a run from its start. A job for all studies has no study. */
export const workflowMetadata = (summary: string, study: string | null) => ({
  staticSummary: summary,
  staticDetails: study === null ? 'all studies' : `study ${study}`,
  ...(study !== null && { typedSearchAttributes: [{ key: studyId, value: study }] }),
});

export interface ParticipantAddress {
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

/** The answer timed out: the message may still be executed, and a repeat with the same id finds its result. */
export class AnchorUpdateTimeoutError extends Error {}

/** The client of participants' workflows for API, relay and capture activities; starts a workflow if necessary. */
export interface AnchorClient {
  /** Sends an update and waits for its result. @throws AnchorUpdateTimeoutError when no worker answers in time. */
  update(
    definition: AnchorUpdate,
    participant: ParticipantAddress,
    message: object,
    updateId: string,
  ): Promise<AnchorOutcome>;
  evaluate(participantId: string, studyId: string, command: Evaluate, updateId: string): Promise<AnchorOutcome>;
  start(participant: ParticipantAddress): Promise<void>;
  sourcesChanged(participant: ParticipantAddress, sender: Sender): Promise<void>;
  withdrawn(participant: ParticipantAddress, sender: Sender): Promise<void>;
  reinstated(participant: ParticipantAddress, sender: Sender): Promise<void>;
}

/**
 * Concurrent updates of one participant from one process. The server accepts ten for a workflow; one more is refused
 * and also drops the others, which are retried: 200 writers on one participant never finished. Four from each of two
 * processes stay below it and still share a workflow task (60 writers: 11 s with two, 8 s with four).
 */
const MAX_UPDATES_IN_FLIGHT = 4;

/**
 * How long a worker may hold a participant's task before another one gets it. A stopping worker may take a task with
 * it: its caller waits this long, and less than REQUEST_TIMEOUT_SECONDS. A longer local activity sends heartbeats.
 */
const TASK_TIMEOUT = '5s' as const;

export interface AnchorClientOptions {
  taskQueue: string;
  timeoutSeconds: number;
  /** The client shares its connection with a worker, which gets a new run at once. */
  eager?: boolean;
}

export function createAnchorClient(
  client: Client,
  { taskQueue, timeoutSeconds, eager = false }: AnchorClientOptions,
): AnchorClient {
  const limiter = new KeyedConcurrencyLimiter(MAX_UPDATES_IN_FLIGHT);
  const startOptions = (participant: ParticipantAddress) => ({
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
    participant: ParticipantAddress,
    message: object,
    updateId: string,
  ): Promise<AnchorOutcome> => {
    // By a monotonic clock: a caller does not wait for an hour because this machine's clock was set back.
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
    participant: ParticipantAddress,
    message: object,
    updateId: string,
  ): Promise<AnchorOutcome> => {
    for (let wait = 20; ; wait = Math.min(wait * 2, 500)) {
      try {
        // The operation object can only be used once.
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
        // The run was lost or ended before it answered: the message is sent again, and its id makes it idempotent.
        if (!wasNotTaken(fault) || performance.now() + wait >= deadline) throw fault;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  };

  const signal = async (
    definition: typeof contract.sourcesChanged,
    participant: ParticipantAddress,
    sender: Sender,
  ) => {
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
      // A missing workflow need not be ended.
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

const startOf = ({ participant_id, study_id, site_id }: ParticipantAddress): ParticipantAnchorStart => ({
  participant_id,
  study_id,
  site_id: site_id ?? null,
});

const NOT_FOUND = 5,
  FAILED_PRECONDITION = 9,
  ABORTED = 10;
/**
 * Failure types by which the server reports that a run closed with an accepted update, or that an overloaded worker
 * dropped one.
 */
const DROPPED_UPDATE_TYPES = ['AcceptedUpdateCompletedWorkflow', 'UnprocessedUpdate'];
/** The message's run has ended, was just ending (its last task was refused) or did not process it. */
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
/** No answer: the message may or may not have arrived. */
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
