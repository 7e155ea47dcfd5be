import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../support/cluster.js';
import type { Random } from '../support/random.js';
import { until } from '../support/until.js';

export type Kind = 'kill' | 'freeze' | 'cut' | 'hold';
/** One thing that goes wrong: who or which link, for how long, and how long until the next. */
export interface Fault {
  kind: Kind;
  target: string;
  forMs: number;
  thenMs: number;
}

/** Waits of the faults: a part is back within seconds, as a supervisor brings it. */
export interface Pace {
  shortest: number;
  longest: number;
  gap: number;
}
export const BRISK: Pace = { shortest: 200, longest: 2_500, gap: 900 };
export const STEADY: Pace = { shortest: 300, longest: 6_000, gap: 4_000 };

/** What a seed does to a cluster: the same seed, the same faults in the same order. */
export function planOf(random: Random, members: readonly string[], links: readonly string[], pace: Pace): () => Fault {
  const victims = members.filter((name) => name !== 'mail');
  return () => {
    const kind = random.oneOf<Kind>(['kill', 'kill', 'freeze', 'cut', 'hold']);
    const target = random.oneOf(kind === 'kill' || kind === 'freeze' ? victims : links);
    // A process that is killed comes back at once, as its supervisor has it; what is cut or frozen stays so for a time.
    return {
      kind,
      target,
      forMs: Math.round(random.between(pace.shortest, pace.longest)),
      thenMs: Math.round(random.next() * pace.gap),
    };
  };
}

export const told = ({ kind, target, forMs }: Fault): string =>
  `${kind} ${target}${kind === 'kill' ? '' : ` ${forMs} ms`}`;

/** Does it, and repairs it. */
export async function inflict(cluster: Cluster, { kind, target, forMs }: Fault): Promise<void> {
  if (kind === 'kill') {
    await cluster.member(target).kill();
    await cluster.member(target).start();
  } else if (kind === 'freeze') {
    const member = cluster.member(target);
    await member.freeze();
    await sleep(forMs);
    member.thaw();
  } else {
    const link = cluster.links.get(target)!;
    if (kind === 'cut') link.cut();
    else link.hold();
    await sleep(forMs);
    link.heal();
  }
}

/** Lets things go wrong, two at a time at most, until told to stop; then everything is whole again. */
export class Chaos {
  readonly done: Fault[] = [];
  private stopping = false;
  private broken: unknown;
  private readonly running: Promise<void>[];
  private readonly underWay = new Set<string>();

  constructor(
    private readonly cluster: Cluster,
    private readonly next: () => Fault,
    private readonly say: (line: string) => void,
    atOnce: number,
  ) {
    this.running = Array.from({ length: atOnce }, () =>
      this.run().catch((fault: unknown) => {
        this.broken ??= fault;
        this.stopping = true;
      }),
    );
  }

  /** What has gone wrong, and how often. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { kind, target } of this.done) counts[`${kind} ${target}`] = (counts[`${kind} ${target}`] ?? 0) + 1;
    return counts;
  }

  /** Waits until so many different things have gone wrong: how long each takes is the machine's. */
  async reaches(different: number): Promise<void> {
    await until(() => this.stopping || Object.keys(this.counts()).length >= different, {
      timeout: 120_000,
      what: `${different} different things to go wrong`,
    });
  }

  /** Nothing more goes wrong from now on. */
  pause(): void {
    this.stopping = true;
  }

  /** @throws if the fault could not be removed: a part did not start again */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.running);
    if (this.broken !== undefined) throw this.broken;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      const fault = this.next();
      // Two hands on one part would undo each other.
      if (!this.underWay.has(fault.target)) {
        this.underWay.add(fault.target);
        this.say(told(fault));
        await inflict(this.cluster, fault);
        this.underWay.delete(fault.target);
        this.done.push(fault);
      }
      await sleep(fault.thenMs);
    }
  }
}
