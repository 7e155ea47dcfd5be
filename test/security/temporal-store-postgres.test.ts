import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { builtServer } from '../../scripts/temporal-postgres/programs.js';
import { serveTemporal } from '../../scripts/temporal-postgres/serve.js';
import type { Served } from '../../scripts/temporal-postgres/serve.js';
import { participantAnchorId } from '../../workflows/contract.js';
import { Stage } from '../anchor/stage.js';
import { root } from '../support/environment.js';
import { startService, temporaryDataDir } from '../support/service.js';
import type { Service } from '../support/service.js';
import { Day } from './persons-day.js';
import { tracesInTables } from './traces-of.js';
import type { Marker, Trace } from './traces-of.js';

const NAMESPACE = 'persons';
const SYSTEM = ['postgres', 'template0', 'template1'];

describe('What the Temporal server of production stores of persons', function () {
  this.timeout(300_000);
  let temporal: Served, service: Service, stage: Stage, day: Day;
  before(async function () {
    const programs = builtServer(join(root, '.cache', 'temporal'));
    // Building it takes minutes: `npm run temporal:postgres -- --build`.
    if (!programs) return this.skip();
    temporal = await serveTemporal({
      programs,
      dir: temporaryDataDir(),
      host: '127.0.0.1',
      port: 'auto',
      password: 'of-this-test-alone',
      cancelled: new AbortController().signal,
      events: { changed: () => undefined, say: () => undefined },
    });
    service = await startService({
      TRUST_PROXY: 'true',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: NAMESPACE,
    });
    stage = await Stage.open(service.run);
    day = await Day.of(stage);
  });
  after(async () => {
    await stage?.close();
    await service?.stop();
    await temporal?.stop();
  });

  /** Everything that its PostgreSQL holds: every column of every table of every database, bytes as digits. */
  async function traces(markers: readonly Marker[]): Promise<Trace[]> {
    const found: Trace[] = [];
    for (const name of await databases())
      await connected(name, async (sql) => {
        found.push(...(await tracesInTables({ sql }, markers)));
      });
    return found;
  }
  const databases = async (): Promise<string[]> => {
    let names: string[] = [];
    await connected('postgres', async (sql) => {
      names = (await sql<{ datname: string }>('select datname from pg_database')).map(({ datname }) => datname);
    });
    return names.filter((name) => !SYSTEM.includes(name));
  };
  async function connected(
    database: string,
    work: (sql: <T>(statement: string) => Promise<T[]>) => Promise<void>,
  ): Promise<void> {
    const url = new URL(temporal.storeUrl);
    url.pathname = `/${database}`;
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await work(async <T>(statement: string) => (await client.query(statement)).rows as T[]);
    } finally {
      await client.end();
    }
  }

  it('its database holds none of it: no history, no task, no search attribute, no memo', async () => {
    const person = await day.someone();
    expect((await person.set('2024-03-10')).status).to.equal(200);
    // What is there is found: the id of a participant's workflow, wherever it stands.
    const known = { name: 'the id of a workflow', word: participantAnchorId(person.id) };
    const places = (await traces([known])).map(({ place }) => place);
    expect(places).to.include.members(['executions.workflow_id', 'executions_visibility.workflow_id']);
    expect(places).to.include('history_node.data');
    expect(day.marks.length).to.be.greaterThan(20);
    expect(await traces(day.marks)).to.deep.equal([]);
  });
});
