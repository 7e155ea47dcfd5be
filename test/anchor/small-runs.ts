import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { createAnchorActivities } from '../../activities/index.js';
import { searchAttributes } from '../../workflows/contract.js';
import { createAnchorClient } from '../../workflows/client.js';
import { root } from '../support/environment.js';
import '../support/quiet-runtime.js';
import type { Stage } from './stage.js';

/** The workflow bundle as `npm start` runs it, built where it is not up to date. */
export async function workflowBundle(): Promise<{ codePath: string }> {
  const { build } = (await import(pathToFileURL(join(root, 'scripts', 'compile.mjs')).href)) as {
    build: (root: string) => Promise<boolean>;
  };
  await build(root);
  return { codePath: join(root, 'dist', 'workflow-bundle.js') };
}

/**
 * A Temporal server of its own that asks for a continue-as-new after a few events, with a worker on the service's
 * database, or with a connection of its own to it: what takes months on the real one takes a second here. Answers null
 * where there is no Temporal command.
 */
export async function withSmallRuns<T>(
  stage: Stage,
  work: (environment: TestWorkflowEnvironment, messages: ReturnType<typeof createAnchorClient>) => Promise<T>,
  database = stage.database,
): Promise<T | null> {
  const { temporal_cli: path } = stage.run;
  if (!path || !existsSync(path)) return null;
  const environment = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path },
      log: { format: 'pretty', level: 'never' },
      extraArgs: [
        '--dynamic-config-value',
        'limit.historyCount.suggestContinueAsNew=30',
        ...Object.entries(searchAttributes).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
      ],
    },
  });
  try {
    const taskQueue = 'small-runs';
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: createAnchorActivities({ database }),
    });
    return await worker.runUntil(() =>
      work(environment, createAnchorClient(environment.client, { taskQueue, timeoutSeconds: 60 })),
    );
  } finally {
    await environment.teardown();
  }
}
