import {
  allHandlersFinished,
  condition,
  continueAsNew,
  proxyLocalActivities,
  patched,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
  currentUpdateInfo,
  isCancellation,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { AnchorActivities } from '../../activities/index.js';
import type { AppliedCommand } from '../../activities/anchor/apply.js';
import type { AnchorCommand } from '../../activities/anchor/commands/commands.js';
import { bindAsyncContext } from '../util/bind-async-context.js';
import { cameOpen, inTheOpen } from '../util/came-open.js';
import * as contract from '../contract.js';
import type { AnchorOutcome, ParticipantAnchorStart, WaitingState } from '../contract.js';

const { applyAnchorCommand } = proxyLocalActivities<AnchorActivities>({
  startToCloseTimeout: '20s',
  summary: 'read the facts, decide, write',
  retry: { initialInterval: '50ms', backoffCoefficient: 2, maximumInterval: '10s' },
});

/**
 * Events after which a run continues as a new one, long before Temporal asks for it. A worker that takes over a
 * participant replays the whole run, and callers wait for that: 600 events took a second, and all participants of a
 * stopped worker are taken over at once.
 */
const MAX_HISTORY_EVENTS = 200;

/** A timer has a limit: a later day is waited for in several steps. */
const MAX_WAIT_MS = 365 * 86_400_000;

/** Results that leave the anchor unchanged. */
const CHANGED_NOTHING: readonly AnchorOutcome['result'][] = [
  'unchanged',
  'none',
  'validation_failed',
  'override_required',
  'refused',
];

const studyId = defineSearchAttributeKey('StudyId', SearchAttributeType.KEYWORD);
const siteId = defineSearchAttributeKey('SiteId', SearchAttributeType.KEYWORD);
const awaitingSince = defineSearchAttributeKey('AwaitingSince', SearchAttributeType.DATETIME);
const studyCode = defineSearchAttributeKey('StudyCode', SearchAttributeType.KEYWORD);
const participantCode = defineSearchAttributeKey('ParticipantCode', SearchAttributeType.KEYWORD);
const waitingFor = defineSearchAttributeKey('WaitingFor', SearchAttributeType.KEYWORD_LIST);
const anchorStatus = defineSearchAttributeKey('AnchorStatus', SearchAttributeType.KEYWORD);

interface Queued {
  command: AnchorCommand;
  within: ReturnType<typeof bindAsyncContext>;
  settle: (outcome: AnchorOutcome) => void;
  fail: (fault: unknown) => void;
}

/**
 * One participant's anchor as a workflow: it waits for messages and deadlines and has each executed, one after the
 * other, by one local activity, which is one transaction. It decides nothing itself and does not rely on its memory: a
 * lost workflow is restarted from the database and continues.
 */
export async function participantAnchor(start: ParticipantAnchorStart): Promise<WaitingState | null> {
  const { participant_id, study_id } = start;
  const { runId } = workflowInfo();
  const queue: Queued[] = [];
  let state = null as WaitingState | null;
  const signals = new Map<string, number>();
  let lastPublishedStatus = '';
  const earlyResults = new Map<string, (queued: Queued) => void>();
  const pendingReplies: (() => void)[] = [];

  const enqueue = (kind: AnchorCommand['kind'], message: unknown, id: string): Promise<AnchorOutcome> =>
    new Promise((settle, fail) => {
      const body = typeof message === 'object' && message !== null && !Array.isArray(message) ? message : {};
      const queued: Queued = {
        command: { id, kind, participant_id, study_id, open: cameOpen(message), message: body } as AnchorCommand,
        within: bindAsyncContext(),
        settle,
        fail,
      };
      const early = earlyResults.get(numberOf(id));
      if (early) early(queued);
      else queue.push(queued);
    });
  // A message that nobody gave an id is known within its history by kind and number: a reset gives the run another id.
  const numberOf = (id: string): string => (id.startsWith(`${participant_id}/`) ? id : id.slice(id.indexOf('/') + 1));
  // The caller chooses an update's id: a repeat, also after a continue-as-new, finds the first result.
  const asUpdate = (kind: AnchorCommand['kind']) => (message?: object) =>
    enqueue(kind, message, `${participant_id}/${currentUpdateInfo()!.id}`.slice(0, 200));
  // A signal has no waiting caller: its result is in the audit log, never in a thrown failure. Ids are counted by kind:
  // a task whose worker died after the write is repeated, perhaps with additional messages, and in another order. The
  // written message must be recognized, and no other be mistaken for it.
  const asSignal = (kind: AnchorCommand['kind']) => (message?: object) => {
    const count = (signals.get(kind) ?? 0) + 1;
    signals.set(kind, count);
    enqueue(kind, message, `${runId}/${kind}/${count}`).then(undefined, () => undefined);
  };

  setHandler(contract.setEnrollmentDate, asUpdate('set'), {
    description: 'Record a manual enrollment date and evaluate all sources',
  });
  setHandler(contract.requestOverride, asUpdate('override'), {
    description: 'Ask for another date in place of a finalized one',
  });
  setHandler(contract.cancelProposal, asUpdate('cancel'), { description: 'Take a provisional date back' });
  setHandler(contract.overrideBack, asUpdate('override_back'), {
    description: 'Undo an override: back to what the sources give, provisional',
  });
  setHandler(contract.decideOverride, asUpdate('decide_override'), {
    description: 'Approve or deny an override request, and be told what came of it',
  });
  setHandler(contract.evaluate, asUpdate('evaluate'), { description: 'Evaluate all sources now' });
  setHandler(contract.sourcesChanged, asSignal('sources_changed'), {
    description: 'A consent, an eligibility, a form … changed',
  });
  setHandler(contract.overrideDecision, asSignal('decide_override'), {
    description: '{request_id, decision: approve|deny, actor_user_id, reason}',
  });
  setHandler(contract.withdrawn, asSignal('withdrawn'), {
    description: 'The participant has withdrawn: nothing moves any more',
  });
  setHandler(contract.reinstated, asSignal('reinstated'), {
    description: 'The withdrawal was a mistake: the schedule goes on as a new version',
  });
  setHandler(contract.anchorState, () => state && inTheOpen({ ...state }), {
    description: 'What the anchor is and what it waits for',
  });

  // The first message may come with the start; without one, the sources are evaluated.
  await Promise.resolve();
  // A run started unencrypted counts as an unencrypted message.
  if (queue.length === 0) asSignal('resume')(cameOpen(start) ? undefined : { actor_type: 'workflow' });

  for (;;) {
    while (queue.length > 0) await processNextCommand();
    flushReplies();
    if (state?.closed && state.pending_override) {
      asSignal('expire')({});
    } else if (state?.closed || isLong()) {
      await condition(allHandlersFinished);
      if (queue.length > 0) continue;
      if (state?.closed) return state;
      // Runs that were longer before this limit existed continue as new when they are next idle, not where they
      // exceeded it.
      if (workflowInfo().continueAsNewSuggested || patched('short-runs'))
        return continueAsNew<typeof participantAnchor>(start);
      await nextMessageOrDeadline();
    } else {
      await nextMessageOrDeadline();
    }
  }

  async function processNextCommand(): Promise<void> {
    const next = queue.shift()!;
    try {
      const outcome = await next.within(() => applyAnchorCommand(next.command));
      state = stateAfter(outcome, state);
      // Facts and trace are in the history with the activity's result; the caller only needs the answer.
      const {
        facts: _facts,
        trace: _trace,
        command_id,
        told_at_rest: replyWhenIdle,
        ...answer
      } = outcome as Partial<AppliedCommand> & AnchorOutcome & { facts?: unknown; trace?: unknown };
      if (!replyWhenIdle) lastPublishedStatus = publishStatus(state, lastPublishedStatus);
      const settle = replyWhenIdle
        ? ({ settle: later, command }: Queued) => {
            pendingReplies.push(() => {
              later(command.open ? inTheOpen(answer) : answer);
            });
          }
        : ({ settle: now, command }: Queued) => {
            now(command.open ? inTheOpen(answer) : answer);
          };
      if (command_id === undefined || numberOf(command_id) === numberOf(next.command.id)) settle(next);
      else settleOutOfOrder(next, command_id, settle);
    } catch (fault) {
      next.fail(fault);
      // Such a write can never succeed: the message fails, the workflow continues.
      if (isCancellation(fault)) throw fault;
    }
  }

  /**
   * A worker that exceeds a task's timeout gets the task again and continues, with messages that arrived meanwhile. A
   * replay has all of them at once, perhaps in another order: the next result in the history may belong to another
   * message.
   */
  function settleOutOfOrder(next: Queued, id: string, settle: (queued: Queued) => void): void {
    // If a message came first, nothing was resumed.
    if (next.command.kind !== 'resume') queue.unshift(next);
    const place = queue.findIndex(({ command }) => numberOf(command.id) === numberOf(id));
    if (place < 0) earlyResults.set(numberOf(id), settle);
    else settle(queue.splice(place, 1)[0]!);
  }

  /**
   * Replies to the senders and publishes the status when no message is left. A worker that exceeds a task's timeout may
   * get it again during a message, with one more that it accepts at once; a replay has all of them before the first is
   * done. Everything besides activities must come in the same order in both. It delays nobody: a task ends when nothing
   * is left anyway.
   */
  function flushReplies(): void {
    if (pendingReplies.length === 0) return;
    lastPublishedStatus = publishStatus(state!, lastPublishedStatus);
    for (const answer of pendingReplies.splice(0)) answer();
  }

  async function nextMessageOrDeadline(): Promise<void> {
    const pending = state?.pending_override;
    const day = state?.date_ahead;
    const arrived = () => queue.length > 0 || pendingReplies.length > 0;
    if (!pending && !day) return condition(arrived);
    const untilDeadline = pending ? untilDeadlineOf(pending) : Infinity;
    const untilDay = day && patched('waits-for-the-day') ? Math.min(day.wait_ms, MAX_WAIT_MS) : Infinity;
    const wait = Math.min(untilDeadline, untilDay);
    if (wait === Infinity) return condition(arrived);
    const summary =
      untilDay <= untilDeadline
        ? `until the day of the date ${day!.date}`
        : pending!.remind_at
          ? 'until the approvers are reminded'
          : 'until the override request expires';
    if (await condition(arrived, wait, { summary })) return;
    if (untilDay <= untilDeadline) asSignal('day_came')({ actor_type: 'workflow' });
    else asSignal(pending!.remind_at ? 'remind' : 'expire')({});
  }
}

/**
 * How long a request's next deadline is ahead. The database decides whether it is over: by the clock of the Temporal
 * server it would be asked again and again, or too late, where the two differ.
 */
const untilDeadlineOf = ({ wait_ms, remind_at, expires_at }: NonNullable<WaitingState['pending_override']>): number =>
  wait_ms ?? Math.max(Date.parse(remind_at ?? expires_at) - Date.now(), 1);

/** A message without effect keeps the last decision, and is shown beside it. */
function stateAfter({ result, refused, waiting }: AnchorOutcome, before: WaitingState | null): WaitingState {
  if (!refused && !CHANGED_NOTHING.includes(result)) return { ...waiting, last_message: null };
  return {
    ...waiting,
    last_decision: before?.last_decision ?? waiting.last_change ?? 'none',
    last_message: waiting.last_decision,
  };
}

const isLong = (): boolean =>
  workflowInfo().continueAsNewSuggested || workflowInfo().historyLength > MAX_HISTORY_EVENTS;

/** Publishes details and search attributes for the Web UI; returns the published text: an unchanged one is skipped. */
function publishStatus(state: WaitingState, lastPublished: string): string {
  const waiting =
    state.waiting_for.length === 0 ? 'waiting for: nothing' : `waiting for: ${state.waiting_for.join(', ')}`;
  const { continuedFromExecutionRunId, typedSearchAttributes } = workflowInfo();
  setCurrentDetails(
    [
      // A continued run starts without the summary and details of the first one.
      ...(continuedFromExecutionRunId
        ? [
            `anchor date of one participant, study ${typedSearchAttributes.get(studyId)}, goes on from an earlier run`,
            '',
          ]
        : []),
      ...(state.labels?.participant_code ? [`participant ${state.labels.participant_code}`] : []),
      `**${state.status}** ${state.enrollment_date ?? ''} (version ${state.version})`,
      '',
      waiting,
      `since: ${state.since}`,
      `last decision: ${state.last_decision}`,
      ...(state.last_message ? [`last message, which changed nothing: ${state.last_message}`] : []),
      ...(state.rule_errors ?? []).map(({ message }) => `a rule can't be run: ${message}`),
      ...(state.date_ahead ? [`the date ${state.date_ahead.date} counts from ${state.date_ahead.begins_at} on`] : []),
      ...(state.pending_override
        ? [`override request ${state.pending_override.request_id}, expires ${state.pending_override.expires_at}`]
        : []),
      ...(state.labels
        ? [
            '',
            `[timeline](${state.labels.timeline})`,
            ...(state.labels.console ? [`[console](${state.labels.console})`] : []),
          ]
        : []),
    ].join('\n'),
  );
  const { labels } = state;
  // Older histories have no labels: their display is unchanged.
  const key = [
    `${state.status}|${state.waiting_for.length > 0 ? state.since : ''}`,
    ...(labels ? [labels.study_code, labels.participant_code, ...(labels.waiting_for ? state.waiting_for : [])] : []),
  ].join('|');
  // A run begins with the site of that time.
  const moved = labels?.site_id !== undefined && labels.site_id !== (typedSearchAttributes.get(siteId) ?? null);
  if (key === lastPublished && !moved) return lastPublished;
  upsertSearchAttributes([
    ...(moved ? [{ key: siteId, value: labels?.site_id ?? null }] : []),
    ...(labels?.study_code === undefined ? [] : [{ key: studyCode, value: labels.study_code }]),
    ...(labels?.participant_code === undefined ? [] : [{ key: participantCode, value: labels.participant_code }]),
    ...(labels?.waiting_for
      ? [{ key: waitingFor, value: state.waiting_for.length > 0 ? state.waiting_for : null }]
      : []),
    { key: anchorStatus, value: state.status },
    { key: awaitingSince, value: state.waiting_for.length > 0 ? new Date(state.since) : null },
  ]);
  return key;
}
