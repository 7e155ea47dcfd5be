import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import type { WorkflowBundleOption } from '@temporalio/worker';
import { expect } from 'chai';
import { workflowBundle } from '../anchor/small-runs.js';
import { root } from '../support/environment.js';
import '../support/quiet-runtime.js';
import { incompatibleBundle } from './incompatible.js';

const folder = join(root, 'test', 'replay', 'histories');
const histories = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({
    workflowId: name.slice(0, -'.json'.length),
    history: historyFromJSON(JSON.parse(readFileSync(join(folder, name), 'utf8'))),
  }));

/** What each history comes to under this code: null, or why it does not replay. */
async function replay(workflowBundle: WorkflowBundleOption): Promise<Map<string, Error | null>> {
  const results = new Map<string, Error | null>();
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories))
    results.set(workflowId, error ?? null);
  return results;
}

describe('workflows that run already', function () {
  it('go on under the present code: every recorded history replays', async () => {
    const results = await replay(await workflowBundle());
    expect(
      [...results].filter(([, error]) => error !== null).map(([name, error]) => `${name}: ${error!.message}`),
    ).to.deep.equal([]);
    expect(results.size).to.equal(histories.length);
  });

  it('histories of every branch are there', () => {
    expect(histories.map((h) => h.workflowId)).to.include.members([
      'anchor-proposed-changed-finalized',
      'anchor-cancelled-and-proposed-again',
      'anchor-override-approved',
      'anchor-override-denied-after-refused-decisions',
      'anchor-override-reminded-and-expired',
      'anchor-date-ahead',
      'anchor-withdrawn-with-a-pending-override',
      'anchor-continued-as-new',
      'anchor-task-given-again',
      'anchor-task-given-again-after-some',
      'anchor-messages-at-once',
      'anchor-long-run',
      'anchor-long-of-an-earlier-release',
      'study-reanchoring',
      'datacapture-trigger',
      'datacapture-trigger-local',
      'datacapture-trigger-after-an-outage',
      'datacapture-trigger-failed',
      'datacapture-sync',
      'datacapture-sync-failed',
      'datacapture-poll',
      'datacapture-query',
      'push-results',
      'push-results-after-an-outage',
      'push-results-refused',
      'push-results-refused-and-told',
      'push-results-cancelled',
      'event-delivery',
      'study-export',
      'study-simulation',
      'study-reanchoring-noted',
      'update-visit-statuses',
      'expire-sessions',
      'process-pending-reminders',
      'send-daily-summary',
      'audit-verification',
    ]);
  });

  it('every workflow that a worker runs has one', () => {
    const recorded = new Set(
      histories.map(({ history }) => history.events![0]!.workflowExecutionStartedEventAttributes!.workflowType!.name),
    );
    // The bundle's entry names them; loaded outside of a worker it would not run.
    const entry = readFileSync(join(root, 'workflows', 'index.ts'), 'utf8');
    const present = [...entry.matchAll(/^export \{([^}]+)\}/gm)].flatMap(([, names]) =>
      names!.split(',').map((name) => name.trim()),
    );
    expect([...recorded].sort()).to.deep.equal(present.sort());
  });

  it('a change that breaks them is found: one that waits before it works, and one that leaves its steps out, do not replay', async () => {
    const results = await replay(await incompatibleBundle());
    const broken = [...results].filter(([name]) => name.startsWith('anchor-') || name.startsWith('push-results'));
    expect(broken.length).to.be.above(8);
    for (const [name, error] of broken) expect(error?.name, name).to.equal('DeterminismViolationError');
    expect(
      [...results].filter(([name, error]) => error !== null && !broken.some(([one]) => one === name)),
      'the others replay',
    ).to.deep.equal([]);
  });
});
