import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../db/migrate.js';
import { brokenInvariants } from '../anchor/invariants.js';
import { Stage } from '../anchor/stage.js';
import { Cluster } from '../support/cluster.js';
import { root } from '../support/environment.js';
import { login } from '../support/http.js';
import { Traffic } from './traffic.js';

const run = promisify(execFile);
/**
 * How long each state of the upgrade is worked in: the old release, the old one on the new schema, both beside each
 * other, the new one.
 */
const WORKED_MS = 8_000;

export interface UpgradeReport {
  applied: string[];
  requests: number;
  resent: number;
  faults: string[];
}

/**
 * An upgrade as it is done in production, from the programs of a release that was: they run and are asked all the time
 * while the schema is brought up to date under them, and while one process after the other becomes one of this
 * checkout. No client may see it.
 * @param from a revision of the repository
 */
export async function upgradeRun({ from, say }: { from: string; say: (line: string) => void }): Promise<UpgradeReport> {
  const before = await checkout(from, say);
  let release = before.root;
  try {
    const cluster = await Cluster.start({ apis: 2, workers: 2, release: () => release, say });
    const stage = await Stage.open(cluster.run);
    try {
      const { http } = await login(cluster.run.api, cluster.run.admin_email, cluster.run.admin_password ?? '');
      const traffic = await Traffic.start(http);
      const worked = async (what: string): Promise<void> => {
        const { requests } = traffic;
        await sleep(WORKED_MS);
        say(`${what}: ${traffic.requests - requests} requests, ${traffic.failed.length} faults so far`);
        if (traffic.requests === requests) traffic.failed.push(`${what}: nothing was answered`);
      };
      await worked(`the programs of ${from}`);
      const { applied } = await migrate(cluster.run.database_url);
      await worked(`the programs of ${from} on the new schema (${applied.length} migrations)`);
      release = root;
      for (const name of ['worker1', 'api1', 'api2', 'worker2']) {
        await cluster.member(name).stop();
        await cluster.member(name).start();
        await worked(`${name} is of this release`);
      }
      await traffic.stop();
      const { study, requests, resent, failed } = traffic;
      const doubled = await stage.sql<{ participant_code: string }>(
        'select participant_code from participants where study_id = ? group by 1 having count(*) > 1',
        [study],
      );
      const { valid } = await http.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${study}`);
      return {
        applied,
        requests,
        resent,
        faults: [
          ...failed,
          ...(await brokenInvariants(stage, study)),
          ...doubled.map((row) => `${row.participant_code} is there twice`),
          ...(valid ? [] : ['the audit does not verify']),
          ...(resent < requests / 20 + 5 ? [] : [`${resent} of ${requests} requests lost their connection`]),
        ],
      };
    } finally {
      await stage.close();
      await cluster.stop();
    }
  } finally {
    await before.remove();
  }
}

/** The programs of a revision, built beside this checkout, with the packages of its own lock file. */
async function checkout(
  revision: string,
  say: (line: string) => void,
): Promise<{ root: string; remove: () => Promise<void> }> {
  const folder = join(mkdtempSync(join(tmpdir(), 'release-')), 'checkout');
  const remove = async (): Promise<void> => {
    await run('git', ['worktree', 'remove', '--force', folder], { cwd: root });
    rmSync(join(folder, '..'), { recursive: true, force: true });
  };
  await run('git', ['worktree', 'add', '--detach', folder, revision], { cwd: root });
  try {
    const lock = (at: string): string => readFileSync(join(at, 'package-lock.json'), 'utf8');
    if (lock(folder) === lock(root)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    else {
      say(`installing the packages of ${revision} …`);
      await run('npm', ['ci'], { cwd: folder });
    }
    say(`building ${revision} …`);
    await run('npm', ['run', 'build'], { cwd: folder });
    return { root: folder, remove };
  } catch (fault) {
    await remove();
    throw fault;
  }
}
