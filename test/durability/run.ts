import { setTimeout as sleep } from 'node:timers/promises';
import { Stage } from '../anchor/stage.js';
import { Cluster } from '../support/cluster.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { faultsOf } from './checker.js';
import type { Observed } from './checker.js';
import { BRISK, Chaos, planOf } from './faults.js';
import type { Pace } from './faults.js';
import { countsOf, emptyLedger } from './ledger.js';
import type { Ledger } from './ledger.js';
import { Lives } from './lives.js';
import { observe, waiting } from './observe.js';
import { SETTINGS, Setting } from './setting.js';

export interface ChaosOptions {
  seed: number;
  participants: number;
  clients: number;
  apis: number;
  workers: number;
  pace?: Pace;
  say: (line: string) => void;
  /** After so many seconds nothing more goes wrong; not set: as long as there is traffic. */
  chaosSeconds?: number;
  /** But not before so many different things have gone wrong. */
  different?: number;
  /** Temporal as in production, with a PostgreSQL of its own, which is killed, frozen and cut off too. */
  temporal?: 'embedded' | 'postgres';
}

export interface ChaosReport {
  seed: number;
  /** Everything that is not as it must be; empty: the run passed. */
  faults: string[];
  ledger: Ledger;
  seen: Observed;
  inflicted: Record<string, number>;
  requests: { requests: number; unanswered: number; unavailable: number };
  seconds: { traffic: number; converging: number };
}

/**
 * One run: participants led through their lives while things die around them, and then the reckoning. `then`: while all
 * still runs.
 */
export async function chaosRun(
  options: ChaosOptions,
  then: (report: ChaosReport, stage: Stage, setting: Setting) => Promise<void> = async () => {},
): Promise<ChaosReport> {
  const { seed, say } = options;
  say(
    `seed ${seed}: ${options.participants} participants, ${options.apis} API and ${options.workers} worker processes`,
  );
  const cluster = await Cluster.start({
    apis: options.apis,
    workers: options.workers,
    settings: SETTINGS,
    say,
    ...(options.temporal && { temporal: options.temporal }),
  });
  try {
    const setting = await Setting.make(cluster),
      stage = await Stage.open(cluster.run);
    try {
      const report = await reckoned(options, cluster, setting, stage);
      await then(report, stage, setting);
      return report;
    } finally {
      await stage.close();
      await setting.close();
    }
  } finally {
    await cluster.stop();
  }
}

const SEEN_MS = 60_000,
  AGAIN_MS = 500;
/** What there is once nothing is wrong with it, or when all patience is over. */
async function atLast(look: () => Promise<Observed>, ledger: Ledger): Promise<Observed> {
  const deadline = performance.now() + SEEN_MS;
  let seen = await look();
  while (faultsOf(ledger, seen).length > 0 && performance.now() < deadline) {
    await sleep(AGAIN_MS);
    seen = await look();
  }
  return seen;
}

async function reckoned(
  { seed, participants, clients, pace = BRISK, chaosSeconds, different = 0, say }: ChaosOptions,
  cluster: Cluster,
  setting: Setting,
  stage: Stage,
): Promise<ChaosReport> {
  const ledger = emptyLedger(setting.studies),
    lives = new Lives(setting, ledger, seed),
    failures: string[] = [];
  const begun = performance.now();
  const chaos = new Chaos(
    cluster,
    planOf(new Random(seed), [...cluster.members.keys()], [...cluster.links.keys()], pace),
    (line) => say(`${((performance.now() - begun) / 1000).toFixed(1)} s ${line}`),
    2,
  );
  const over =
    chaosSeconds === undefined
      ? undefined
      : setTimeout(() => {
          void chaos.reaches(different).then(
            () => chaos.pause(),
            () => undefined,
          );
        }, chaosSeconds * 1000);
  let next = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let n = next++; n < participants; n = next++) {
        await lives.lead(n).catch((fault: Error) => {
          failures.push(`participant ${n}: ${fault.message}`);
        });
      }
    }),
  );
  const quiet = performance.now();
  clearTimeout(over);
  await chaos.reaches(different);
  await chaos.stop();
  say(
    `${((performance.now() - begun) / 1000).toFixed(1)} s everything is whole again; acknowledged: ${countsOf(ledger)}`,
  );
  const late = await until(async () => (await waiting(stage, Object.values(ledger.studies))).length === 0, {
    timeout: 180_000,
    interval: 500,
    what: 'everything to be done',
  }).then(
    () => [],
    (fault: Error) => [fault.message],
  );
  // Visibility lags behind what has happened by a moment, by more on a busy machine.
  const seen = await atLast(() => observe(stage, setting, ledger), ledger);
  return {
    seed,
    ledger,
    seen,
    inflicted: chaos.counts(),
    requests: lives.client.counts,
    faults: [
      ...failures,
      ...lives.client.offences.map(({ what, status, text }) => `${what} answered ${status}: ${text}`),
      ...late,
      ...faultsOf(ledger, seen),
    ],
    seconds: { traffic: (quiet - begun) / 1000, converging: (performance.now() - quiet) / 1000 },
  };
}
