import { expect } from 'chai';
import { Client } from 'pg';
import { Stage } from '../anchor/stage.js';
import { service, startService } from '../support/service.js';
import type { RunJson, Service } from '../support/service.js';
import { unique } from '../support/http.js';

describe('a service on servers of one’s own', function ownServers() {
  this.timeout(240_000);
  let theirs: RunJson;
  let owner: Client;
  let own: Service | undefined;
  const name = unique('own').replaceAll('-', '_');
  before(async () => {
    theirs = await service();
    owner = new Client({ connectionString: theirs.database_url });
    await owner.connect();
    await owner.query(`create database ${name}`);
  });
  after(async () => {
    await own?.stop();
    await owner.query(`drop database ${name} with (force)`);
    await owner.end();
  });

  it('starts none of its own in their place, and works on them', async () => {
    const database = new URL(theirs.database_url);
    database.pathname = `/${name}`;
    own = await startService({
      DATABASE_URL: database.toString(),
      TEMPORAL_ADDRESS: theirs.temporal,
      TEMPORAL_NAMESPACE: name,
      TEMPORAL_TASK_QUEUE: name,
      SMTP_URL: theirs.smtp!,
    });
    expect(Object.keys(own.run.pids).sort()).to.deep.equal(['api', 'supervisor', 'worker']);
    expect(own.run).to.include({ temporal: theirs.temporal, temporal_namespace: name, smtp: theirs.smtp });
    const stage = await Stage.open(own.run);
    try {
      const person = await (await stage.study({ prerequisites: { require_eligibility_confirmed: false } })).person();
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-01' });
      expect((await stage.handle(person.id).describe()).status.name).to.equal('RUNNING');
    } finally {
      await stage.close();
    }
  });
});
