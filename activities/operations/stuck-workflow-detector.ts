import type { Client, WorkflowService } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { Logger } from 'pino';
import { withAdvisoryLock } from '../../db/client/advisory-lock.js';
import { knownFailing, noteFailing } from '../../db/operations/failing-workflows.queries.js';
import type { FailingWorkflow } from '../../db/operations/failing-workflows.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { deadlineIn } from '../../workflows/client.js';
import type { Database } from '../../db/client/database.js';

const { EventType, WorkflowExecutionStatus, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;

/**
 * Temporal's own marker of a failing run: two entries, of which one is the reason. Set after five failures, and removed
 * by the first successful task.
 */
const SAID = 'TemporalReportedProblems';
const PROBLEMS = `${SAID} IN ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')`;
const TIMED_OUT = 'TimedOut';
/** The most marked runs that are stored. */
const MAX_WORKFLOWS = 1_000;
/** A task that a dying worker held is repeated: its second attempt indicates nothing. */
const ATTEMPTS = 3;
/**
 * Runs checked one by one in each round: at the default interval five a second of the running ones, and of the known
 * failing ones.
 */
const PAGE = 300;
const AGAIN = 200;
const CONCURRENCY = 4;
/** How many events back the last failure may be: later messages follow it. */
const EVENTS = 50;
const CALL_MS = 5_000;
/** The most runs named in the log at a time. */
const TOLD = 20;

type Run = Omit<FailingWorkflow, 'problem'>;

/**
 * Finds the runs whose workflow task fails repeatedly (a release that does not match their histories, code that throws,
 * a task that crashes every worker). Temporal retries such a task forever and shows the run as running; its work does
 * not happen.
 *
 * A server that marks such runs (from 1.30 on, unless its operator disabled it) is queried for the marked ones: one
 * call. An older one is queried run by run, one page of running ones in each round: of ten thousand, each is checked
 * within some 35 minutes at the default interval. Nothing in the database identifies them: a delivered signal leaves no
 * row.
 */
export class StuckWorkflowDetector {
  /** The page token of the next round, on an older server; empty: the beginning. */
  private place: Uint8Array = new Uint8Array();

  constructor(
    private readonly deps: { database: Database; client: Client; taskQueue: string; log: Logger; everySeconds: number },
  ) {}

  private timer: NodeJS.Timeout | undefined;
  private underWay: Promise<void> | undefined;
  private stopped = false;

  start(): void {
    const look = () => {
      this.underWay ??= this.look().finally(() => {
        this.underWay = undefined;
      });
    };
    look();
    this.timer = setInterval(look, this.deps.everySeconds * 1000);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.underWay;
  }

  /** One worker at a time. */
  private async look(): Promise<void> {
    const { database, log } = this.deps;
    try {
      await withAdvisoryLock(database, 'failing-workflows', async () => {
        const { failing, looked } = (await this.marks())
          ? { failing: await this.marked(), looked: 'all' as const }
          : await this.oneByOne();
        const { found, well } = await withStudyScope(database, [], ({ tx }) => noteFailing(tx, failing, looked));
        for (const { workflow_id, run_id, problem } of found.slice(0, TOLD))
          log.error(
            { workflow_id, run_id, problem },
            'a workflow’s task fails again and again: what it is to do waits until somebody fixes it',
          );
        if (found.length > TOLD)
          log.error(
            { found: found.length, named: TOLD },
            'more workflows’ tasks fail again and again than are named here',
          );
        if (well.length > 0)
          log.info(
            { well: well.length, workflow_ids: well.slice(0, TOLD).map(({ workflow_id }) => workflow_id) },
            'workflows fail no more',
          );
      });
    } catch (fault) {
      log.warn(
        { fault: fault instanceof Error ? fault.name : 'fault' },
        'it was not seen whether workflows fail; it is looked again',
      );
    }
  }

  private ask<T>(call: (service: WorkflowService, namespace: string) => Promise<T>): Promise<T> {
    const { client } = this.deps;
    return client.connection.withDeadline(deadlineIn(CALL_MS), () =>
      call(client.workflowService, client.options.namespace),
    );
  }

  private async marks(): Promise<boolean> {
    const { namespaceInfo } = await this.ask((service, namespace) => service.describeNamespace({ namespace }));
    return namespaceInfo?.capabilities?.reportedProblemsSearchAttribute === true;
  }

  private async marked(): Promise<FailingWorkflow[]> {
    const { runs } = await this.list(` AND ${PROBLEMS}`, MAX_WORKFLOWS, new Uint8Array());
    return runs.map(({ said, ...run }) => ({
      ...run,
      problem: said.includes('category=WorkflowTaskTimedOut')
        ? TIMED_OUT
        : kindOf(said.find((word) => word.startsWith('cause=')) ?? ''),
    }));
  }

  private async oneByOne(): Promise<{ failing: FailingWorkflow[]; looked: string[] }> {
    const known: Run[] = await withStudyScope(this.deps.database, [], ({ tx }) => knownFailing(tx, AGAIN));
    const before = new Set(known.map(({ run_id }) => run_id));
    // A page token that the server does not know (any more) is not used twice.
    const { place } = this;
    this.place = new Uint8Array();
    const { runs: page, next } = await this.list('', PAGE, place);
    this.place = next;
    const runs = [
      ...new Map([...known, ...page.map(({ said: _, ...run }) => run)].map((run) => [run.run_id, run])).values(),
    ];
    const failing: FailingWorkflow[] = [],
      looked: string[] = [];
    for (let from = 0; from < runs.length && !this.stopped; from += CONCURRENCY) {
      const problems = await Promise.all(
        runs
          .slice(from, from + CONCURRENCY)
          .map(async (run) => ({ run, problem: await this.problemOf(run, before.has(run.run_id)) })),
      );
      for (const { run, problem } of problems) {
        looked.push(run.run_id);
        if (problem !== undefined) failing.push({ ...run, problem });
      }
    }
    return { failing, looked };
  }

  /** A page of this service's running workflows. */
  private async list(
    further: string,
    pageSize: number,
    nextPageToken: Uint8Array,
  ): Promise<{ runs: (Run & { said: string[] })[]; next: Uint8Array }> {
    const query = `TaskQueue = '${this.deps.taskQueue}' AND ExecutionStatus = 'Running'${further}`;
    const answer = await this.ask((service, namespace) =>
      service.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken }),
    );
    const runs = (answer.executions ?? []).map(({ execution, type, searchAttributes }) => {
      const said = searchAttributes?.indexedFields?.[SAID]?.data;
      return {
        run_id: execution!.runId!,
        workflow_id: execution!.workflowId!,
        workflow_type: type!.name!,
        said: said ? (JSON.parse(Buffer.from(said).toString()) as string[]) : [],
      };
    });
    return { runs, next: answer.nextPageToken ?? new Uint8Array() };
  }

  /**
   * The kind of its failure; undefined if its task does not fail, or the run has ended.
   * @param known it failed before: a later message resets the attempt counter, which then proves nothing
   */
  private async problemOf({ workflow_id, run_id }: Run, known: boolean): Promise<string | undefined> {
    const execution = { workflowId: workflow_id, runId: run_id };
    try {
      const { pendingWorkflowTask: task, workflowExecutionInfo: info } = await this.ask((service, namespace) =>
        service.describeWorkflowExecution({ namespace, execution }),
      );
      if (
        info?.status !== WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING ||
        !task ||
        (!known && (task.attempt ?? 0) < ATTEMPTS)
      )
        return undefined;
      const { history } = await this.ask((service, namespace) =>
        service.getWorkflowExecutionHistoryReverse({ namespace, execution, maximumPageSize: EVENTS }),
      );
      const last = history?.events?.find(({ eventType }) => ENDS.has(eventType));
      if (last?.eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED) return undefined;
      const cause = last?.workflowTaskFailedEventAttributes?.cause;
      return last && typeof cause !== 'number' ? TIMED_OUT : kindOf(WorkflowTaskFailedCause[cause ?? 0] ?? '');
    } catch (fault) {
      if (isNotFound(fault)) return undefined;
      throw fault;
    }
  }
}

/** The possible ends of a task. */
const ENDS = new Set<unknown>([
  EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
]);
const GRPC_NOT_FOUND = 5;
const isNotFound = (fault: unknown) => fault instanceof Error && 'code' in fault && fault.code === GRPC_NOT_FOUND;

/**
 * `NonDeterministicError`, in either of Temporal's two notations. Never the failure's own message, which may quote
 * data.
 */
function kindOf(cause: string): string {
  const bare = cause.replace(/^cause=WorkflowTaskFailedCause|^WORKFLOW_TASK_FAILED_CAUSE_/, '');
  const words = bare.includes('_')
    ? bare.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
    : bare;
  return words || 'Unknown';
}
