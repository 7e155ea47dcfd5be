import { Random } from '../../support/random.js';

/** What one piece of work asks of a part of the service: mean milliseconds of processor time. */
export interface Step {
  part: string;
  ms: number;
}

/** Work of one kind. Its steps follow one another. */
export interface Kind {
  name: string;
  steps: readonly Step[];
  /** With so many steps done the caller has the answer; what follows is done for nobody who waits. */
  answeredAfter: number;
  /** Arrivals a second. */
  perSecond: number;
  /** Milliseconds until the answer in which no processor is used: disk, network, timers. */
  idleMs: number;
}

export interface Machine {
  cores: number;
  /** How many cores a part can use at once; a part that is not listed can use all. */
  threads: Readonly<Record<string, number>>;
}

export interface Simulated {
  /** Milliseconds until the answer, of each kind. */
  answers: { name: string; p50: number; p99: number }[];
  /** Share of the cores' time that is used. */
  used: number;
  /** More arrives than is worked off: the times grow with the length of the run. */
  isFull: boolean;
}

/** Arrivals of the same seed are the same. */
const SEED = 20_260_105;
/** An Erlang distribution of so many parts: times of one kind of work differ by half of their mean. */
const ERLANG = 4;
const TICK_MS = 0.25;
/** Until then the machine is filling: what arrives is not counted. */
const WARM_SHARE = 0.1;
/** Of the arrivals, unfinished at the end: more is no waiting line but one that grows. */
const FULL_SHARE = 0.05;

interface Job {
  kind: Kind;
  arrived: number;
  step: number;
  left: number;
}

/**
 * A simulation of a machine whose cores are shared by the parts of the service: work of each kind arrives by chance (as
 * Poisson processes), passes its steps one after another, and the cores go round among what waits, tick by tick.
 * @param seconds simulated time
 */
export function simulateQueue(kinds: readonly Kind[], machine: Machine, seconds: number): Simulated {
  const random = new Random(SEED);
  const end = seconds * 1_000;
  const arriving = kinds
    .flatMap((kind) => startsByChance(random, kind.perSecond, seconds).map((arrived) => ({ kind, arrived })))
    .sort((a, b) => a.arrived - b.arrived);
  const took = new Map(kinds.map(({ name }) => [name, [] as number[]]));
  const waiting: Job[] = [];
  let arrived = 0;
  let busyMs = 0;
  for (let tick = 0; tick * TICK_MS < end; tick += 1) {
    const now = tick * TICK_MS;
    for (let next = arriving[arrived]; next !== undefined && next.arrived <= now; next = arriving[arrived]) {
      waiting.push({ ...next, step: 0, left: erlang(random, next.kind.steps[0]!.ms) });
      arrived += 1;
    }
    busyMs += workOneTick(waiting, machine, tick) * TICK_MS;
    for (let i = waiting.length - 1; i >= 0; i -= 1) {
      const job = waiting[i]!;
      const { name, steps, answeredAfter, idleMs } = job.kind;
      while (job.left <= 0 && job.step < steps.length) {
        job.step += 1;
        if (job.step === answeredAfter && job.arrived > end * WARM_SHARE)
          took.get(name)!.push(now + TICK_MS - job.arrived + idleMs);
        if (job.step < steps.length) job.left += erlang(random, steps[job.step]!.ms);
      }
      if (job.step === steps.length) waiting.splice(i, 1);
    }
  }
  return {
    answers: [...took].map(([name, times]) => ({ name, p50: quantile(times, 0.5), p99: quantile(times, 0.99) })),
    used: busyMs / (end * machine.cores),
    isFull: waiting.length > arrived * FULL_SHARE,
  };
}

/**
 * Every core works on one of the jobs whose part has a thread left; who is first changes from tick to tick.
 * @returns how many cores had work
 */
function workOneTick(waiting: readonly Job[], { cores, threads }: Machine, tick: number): number {
  const inUse = new Map<string, number>();
  let busy = 0;
  for (let i = 0; i < waiting.length && busy < cores; i += 1) {
    const job = waiting[(i + tick) % waiting.length]!;
    const { part } = job.kind.steps[job.step]!;
    const users = inUse.get(part) ?? 0;
    if (users >= (threads[part] ?? cores)) continue;
    inUse.set(part, users + 1);
    job.left -= TICK_MS;
    busy += 1;
  }
  return busy;
}

/** When the arrivals of a Poisson process come, in milliseconds from its beginning. */
export function startsByChance(random: Random, perSecond: number, seconds: number): number[] {
  const starts: number[] = [];
  for (
    let at = exponential(random, 1_000 / perSecond);
    at < seconds * 1_000;
    at += exponential(random, 1_000 / perSecond)
  )
    starts.push(at);
  return starts;
}

const exponential = (random: Random, mean: number): number => -Math.log(1 - random.next()) * mean;

const erlang = (random: Random, mean: number): number =>
  Array.from({ length: ERLANG }, () => exponential(random, mean / ERLANG)).reduce((sum, part) => sum + part, 0);

function quantile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
}
