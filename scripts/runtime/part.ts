import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { end, errorCode, identify, signal, type Identity } from './processes.js';
import { StartError } from './start-error.js';

export type PartName = 'postgres' | 'temporal' | 'mail' | 'worker' | 'api';

/** How one part of the service is started, recognised as ready, and stopped. */
export interface PartPlan {
  name: PartName;
  /** The file for its standard output and error. */
  log: string;
  /** Work before each start, such as removing the remains of a crash. */
  before?: () => Promise<void>;
  spawn: (log: number) => ChildProcess;
  /** Resolves when the part serves; cancelled when the part dies meanwhile. */
  ready: (child: ChildProcess, cancelled: AbortSignal) => Promise<void>;
  readyWithinSeconds: number;
  stopSignal: NodeJS.Signals;
  graceSeconds: number;
}

export interface PartEvents {
  /** Called when a process starts or ends, to store the pids. */
  changed: () => void;
  say: (line: string) => void;
}

const FIRST_PAUSE = 200;
const MAX_PAUSE = 10_000;
/** A part that ran for this long is restarted quickly again. */
const SETTLED = 60_000;
const LARGEST_LOG = 20 * 1024 * 1024;

/** One supervised process: started, restarted with back-off when it dies, stopped on request. */
export class Part {
  #child: ChildProcess | undefined;
  #identity: Identity | undefined;
  #stopping = new AbortController();
  #keepingUp: Promise<void> | undefined;
  /** Ends the pause before the next attempt. */
  #wake = new AbortController();
  /** Callers of a restart that wait for its result. */
  #asked: ((fault?: Error) => void)[] = [];

  constructor(
    private readonly plan: PartPlan,
    private readonly events: PartEvents,
  ) {}

  get name(): PartName {
    return this.plan.name;
  }
  get identity(): Identity | undefined {
    return this.#identity;
  }

  /**
   * @throws StartError with the part's last output if it does not start; it is only restarted after it was ready once.
   */
  async start(): Promise<void> {
    const child = await this.#attempt();
    this.#keepingUp = this.#keepUp(child);
  }

  /**
   * Ends the process and starts the program again, without a pause.
   * @throws StartError with the part's last output if it does not start; it is retried with back-off
   */
  async restart(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const outcome = new Promise<void>((resolve, reject) => {
      this.#asked.push((fault) => (fault ? reject(fault) : resolve()));
    });
    const child = this.#child;
    this.#wake.abort();
    await Promise.all([outcome, child && this.#end(child)]);
  }

  /** Drains and ends the part; after its grace period it is killed with all its children. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    const child = this.#child;
    if (child) await this.#end(child);
    await this.#keepingUp;
  }

  /** Kills the part at once: for a second Ctrl-C. */
  kill(): void {
    this.#stopping.abort();
    this.#wake.abort();
    if (this.#child?.pid !== undefined) signal(-this.#child.pid, 'SIGKILL');
  }

  async #attempt(): Promise<ChildProcess> {
    const { plan } = this;
    await plan.before?.();
    this.#stopping.signal.throwIfAborted();
    const [log, from] = openLog(plan.log);
    const child = spawnWith(plan, log);
    this.#child = child;
    this.#identity = child.pid === undefined ? undefined : identify(child.pid);
    this.events.changed();
    const cancel = new AbortController();
    const died = exited(child).then((how) => {
      throw new StartError(`${plan.name} ended ${how} before it was ready${lastWords(plan.log, from)}`);
    });
    const late = sleep(plan.readyWithinSeconds * 1000, undefined, { signal: cancel.signal }).then(() => {
      throw new StartError(
        `${plan.name} was not ready within ${plan.readyWithinSeconds} s${lastWords(plan.log, from)}`,
      );
    });
    try {
      await Promise.race([plan.ready(child, cancel.signal), died, late]);
      return child;
    } catch (fault) {
      await this.#end(child);
      throw fault;
    } finally {
      cancel.abort();
      for (const loser of [died, late]) loser.catch(ignoreLoser);
    }
  }

  async #keepUp(first: ChildProcess): Promise<void> {
    try {
      await this.#restartWhenItEnds(first);
    } finally {
      this.#answer(this.#asked.splice(0));
    }
  }

  async #restartWhenItEnds(first: ChildProcess): Promise<void> {
    let child: ChildProcess | undefined = first;
    let pause = FIRST_PAUSE;
    const { name } = this.plan;
    while (!this.#stopping.signal.aborted) {
      if (child) {
        const since = performance.now();
        const how = await exited(child);
        this.#forget(child);
        if (this.#stopping.signal.aborted) return;
        if (performance.now() - since > SETTLED) pause = FIRST_PAUSE;
        if (this.#asked.length === 0) this.events.say(`${name} ended ${how}; starting it again in ${pause / 1000} s`);
      }
      if (this.#asked.length === 0) await this.#pause(pause);
      if (this.#stopping.signal.aborted) return;
      pause = Math.min(pause * 2, MAX_PAUSE);
      const asked = this.#asked.splice(0);
      if (asked.length > 0) pause = FIRST_PAUSE;
      try {
        child = await this.#attempt();
        this.#answer(asked);
        if (asked.length === 0) this.events.say(`${name} is back (process ${child.pid})`);
        // Requested before this process existed.
        if (this.#asked.length > 0) await this.#end(child);
      } catch (fault) {
        child = undefined;
        this.#answer(asked, fault as Error);
        if (this.#stopping.signal.aborted) return;
        if (asked.length === 0)
          this.events.say(`${(fault as Error).message}\n${name}: trying again in ${pause / 1000} s`);
      }
    }
  }

  #answer(asked: ((fault?: Error) => void)[], fault?: Error): void {
    for (const answer of asked) answer(fault);
  }

  /** Waits, until the part is to be restarted or stopped. */
  async #pause(ms: number): Promise<void> {
    this.#wake = new AbortController();
    const { signal: woken } = this.#wake;
    if (this.#stopping.signal.aborted) return;
    try {
      await sleep(ms, undefined, { signal: woken });
    } catch (fault) {
      if (!woken.aborted) throw fault;
    }
  }

  async #end(child: ChildProcess): Promise<void> {
    const { stopSignal, graceSeconds } = this.plan;
    if (this.#identity?.pid === child.pid && this.#identity)
      await end(this.#identity, [
        [stopSignal, graceSeconds],
        ['SIGKILL', 5],
      ]);
    await exited(child);
    this.#forget(child);
  }

  #forget(child: ChildProcess): void {
    // Its children (a printing browser, for example) belong to its process group.
    if (child.pid !== undefined) signal(-child.pid, 'SIGKILL');
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#identity = undefined;
    this.events.changed();
  }
}

/** The result of a race that was decided already. */
function ignoreLoser(fault: unknown): void {
  if (!(fault instanceof Error)) throw fault;
}

function spawnWith(plan: PartPlan, log: number): ChildProcess {
  try {
    return plan.spawn(log);
  } finally {
    closeSync(log);
  }
}

async function exited(child: ChildProcess): Promise<string> {
  if (child.pid === undefined) {
    const [fault] = (await once(child, 'error')) as [Error];
    throw new StartError(`${child.spawnfile} could not be started: ${fault.message}.`);
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.signalCode === null ? `with exit code ${child.exitCode}` : `by ${child.signalCode}`;
}

function openLog(path: string): [file: number, size: number] {
  let size = sizeOf(path);
  if (size > LARGEST_LOG) {
    rmSync(`${path}.1`, { force: true });
    renameSync(path, `${path}.1`);
    size = 0;
  }
  return [openSync(path, 'a', 0o600), size];
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (fault) {
    if (errorCode(fault) === 'ENOENT') return 0;
    throw fault;
  }
}

/** The part's output since its start, so that the terminal shows the reason: an error's sentence, not its stack. */
function lastWords(path: string, from: number): string {
  const text = readFileSync(path).subarray(from).toString('utf8').trim();
  const told = text.split('\n').filter((line) => !/^\s+at /.test(line));
  const lines = told.slice(-12).join('\n');
  return lines ? `; its last words (${path}):\n${lines}` : ` (nothing in ${path})`;
}
