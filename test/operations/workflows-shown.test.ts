import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { expect } from 'chai';
import { createMessageHandler } from '../../activities/outbox/message-handler.js';
import type { OutboxRow } from '../../db/outbox/claims.queries.js';
import type { OutboxTopic } from '../../db/outbox/outbox.js';
import { createAnchorClient } from '../../workflows/client.js';
import * as contract from '../../workflows/contract.js';
import { datacaptureQueryType } from '../../workflows/domain/capture/query.js';
import { Stage } from '../capture/support.js';
import { root } from '../support/environment.js';
import { unique } from '../support/http.js';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { until } from '../support/until.js';

const operations = readFileSync(join(root, 'docs', 'OPERATIONS.md'), 'utf8');
/** Every workflow that a worker runs, by the bundle's entry. */
const types = [...readFileSync(join(root, 'workflows', 'index.ts'), 'utf8').matchAll(/export \{([^}]*)\}/g)].flatMap(
  ([, names]) => names!.split(',').map((name) => name.trim()),
);

/** The page of a workflow: from its heading to the next. */
const pageOf = (type: string): string =>
  new RegExp(`^### \`${type}\`[^\\n]*\\n([\\s\\S]*?)(?=^#{1,3} |(?![\\s\\S]))`, 'm').exec(operations)?.[1] ?? '';

describe('docs/OPERATIONS.md', () => {
  it('knows every workflow type, and no other', () => {
    expect(types.length).to.be.greaterThan(10);
    expect([...types].sort()).to.deep.equal(
      [...new Set([...Object.values(contract.workflowTypes), datacaptureQueryType])].sort(),
    );
    const named = [...operations.matchAll(/^### `(\w+)`/gm)].map(([, name]) => name);
    expect([...named].sort()).to.deep.equal([...types].sort());
  });

  for (const type of types) {
    it(`says of ${type} what it means, what can go wrong and how to fix it`, () => {
      const page = pageOf(type);
      for (const part of ['**Means**', '**Can go wrong**', '**Fix**'])
        expect(page, `${type}: ${part}`).to.contain(part);
      expect(page.length).to.be.greaterThan(250);
    });
  }

  it('names only search attributes, routes, metrics and npm commands that there are', () => {
    const queries = [...operations.matchAll(/^temporal .*--query "(.*)"$/gm)].map(([, query]) => query!);
    expect(queries.length).to.be.greaterThan(4);
    const known = new Set([
      ...Object.keys(contract.searchAttributes),
      'WorkflowType',
      'ExecutionStatus',
      'StartTime',
      'CloseTime',
      'WorkflowId',
      'TemporalReportedProblems',
      'ExecutionTime',
    ]);
    for (const query of queries) {
      for (const [, attribute] of query.matchAll(/\b([A-Z]\w+)\s*(?:=|<|>|!=|IN|STARTS_WITH)/g))
        expect(known, query).to.include(attribute);
      for (const [, type] of query.matchAll(/WorkflowType = '(\w+)'/g)) expect(types, query).to.include(type);
    }
    const { paths } = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const routes = [...operations.matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/api\/[^\s`?]+)/g)];
    expect(routes.length).to.be.greaterThan(10);
    for (const [, method, path] of routes)
      expect(Object.keys(paths[path!] ?? {}), `${method} ${path}`).to.include(method!.toLowerCase());
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const [, name] of operations.matchAll(/npm run ([\w:-]+)/g))
      expect(scripts, `npm run ${name}`).to.have.property(name!);
  });
});

describe('What operators see of each workflow', function shown() {
  this.timeout(240_000);
  let stage: Stage;
  let temporal: TemporalAccess;
  let client: Client;
  const taskQueue = unique('nobody-works-here');
  const begun: string[] = [];
  before(async () => {
    stage = await Stage.set();
    temporal = await temporalOf(stage.run);
    client = temporal.client;
  });
  after(async () => {
    await Promise.all(begun.map((id) => client.workflow.getHandle(id).terminate('the test is over')));
    await temporal?.close();
    await stage?.clear();
  });

  const holds = async (run: WorkflowExecutionDescription, studyId: string) => {
    expect(await run.staticSummary(), `${run.type}: summary`).to.match(/\w+ \w+/);
    expect(await run.staticDetails(), `${run.type}: details`).to.equal(`study ${studyId}`);
    expect(
      run.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
      `${run.type}: StudyId`,
    ).to.deep.include(['StudyId', studyId]);
  };

  const byRelay: [OutboxTopic, type: string, id: (subject: string, study: string, message: number) => string][] = [
    ['participant-start', 'participantAnchor', contract.participantAnchorId],
    ['sources-changed', 'participantAnchor', contract.participantAnchorId],
    ['trigger', 'datacaptureTrigger', contract.datacaptureTriggerId],
    [
      'study-changed',
      'studyReanchoring',
      (_subject, study, message) => contract.studyReanchoringId(study, String(message)),
    ],
    ['push', 'pushResults', contract.pushResultsId],
    ['datacapture-sync', 'datacaptureSync', contract.datacaptureSyncId],
    ['export', 'studyExport', contract.studyExportId],
    ['simulation', 'studySimulation', contract.studySimulationId],
    ['event-delivery', 'eventDelivery', contract.eventDeliveryId],
  ];
  for (const [index, [topic, type, idOf]] of byRelay.entries()) {
    it(`${type}, begun by a message "${topic}": a summary, its study in words and to search by`, async () => {
      const [subject, study] = [randomUUID(), randomUUID()];
      const none = async () => {
        throw new Error('not a message to a person');
      };
      // The real relay on the real server; nobody takes its work, so that the run stays as it was begun.
      const deliver = createMessageHandler({
        client,
        anchors: createAnchorClient(client, { taskQueue, timeoutSeconds: 10 }),
        taskQueue,
        sendNotification: none,
        sendUserLink: none,
        sendAccountNotice: none,
        setPoll: none,
        noteChange: () => Promise.resolve(),
        closeChange: () => Promise.resolve(),
      });
      const message: OutboxRow = { id: 1_000_000 + index, topic, study_id: study, subject, payload: {}, attempts: 1 };
      await deliver(message);
      const id = idOf(subject, study, message.id);
      begun.push(id);
      const run = await client.workflow.getHandle(id).describe();
      expect(run.type).to.equal(type);
      await holds(run, study);
    });
  }

  it('datacapturePoll and datacaptureQuery of a connected study', async () => {
    const study = await stage.study();
    const schedule = client.schedule.getHandle(contract.datacapturePollId(study.id));
    await until(() => schedule.describe(), { what: 'the poll to be planned' });
    await schedule.trigger();
    const answer = await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
    expect(answer.status).to.equal(200);
    for (const type of ['datacapturePoll', datacaptureQueryType]) {
      const found = await until(
        async () => {
          for await (const run of client.workflow.list({
            query: `WorkflowType = '${type}' AND StudyId = '${study.id}'`,
          }))
            return run;
          return undefined;
        },
        { what: `${type} to be found by its study` },
      );
      await holds(await client.workflow.getHandle(found.workflowId, found.runId).describe(), study.id);
    }
  });

  for (const [job, id] of Object.entries(contract.scheduleIds)) {
    it(`the periodic job ${job} (${id})`, async () => {
      const { action } = await client.schedule.getHandle(id).describe();
      expect(action).to.include({ staticSummary: id.replaceAll('_', ' '), staticDetails: 'all studies' });
    });
  }

  for (const [type, words] of [
    ['updateVisitStatuses', /visits opened, \d+ missed/],
    ['expireSessions', /sessions expired/],
    ['processPendingReminders', /\d+ sent, \d+ failed/],
  ] as const) {
    it(`${type} says in its details what it did`, async () => {
      const done = await until(
        async () => {
          for await (const run of client.workflow.list({
            query: `WorkflowType = '${type}' AND ExecutionStatus = 'Completed'`,
          }))
            return run;
          return undefined;
        },
        { what: `a run of ${type}` },
      );
      const { currentDetails } = await client.workflow
        .getHandle(done.workflowId, done.runId)
        .query<{ currentDetails: string }>('__temporal_workflow_metadata');
      expect(currentDetails).to.match(words);
    });
  }

  it('all search attributes are registered', async () => {
    const { customAttributes } = await temporal.connection.operatorService.listSearchAttributes({
      namespace: stage.run.temporal_namespace,
    });
    expect(customAttributes).to.include.keys(...Object.keys(contract.searchAttributes));
  });
});
