import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import { unique } from '../support/http.js';
import { service, until } from '../support/service.js';

const policy = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };

describe('A fault of the database', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('is in the worker’s log with its code and place, and without the values that it quotes', async () => {
    const study = await stage.study(policy);
    const person = await study.person();
    await person.set(DAY);
    await study.settled();
    const [name, value] = [unique('refuse').replaceAll('-', '_').toLowerCase(), unique('Lovelace')];
    const log = join((await service()).data_dir, 'logs', 'worker.log');
    const before = readFileSync(log, 'utf8').length;
    const told = () => readFileSync(log, 'utf8').slice(before);
    await stage.sql(
      `create function ${name}() returns trigger language plpgsql as $$ begin
         raise exception 'row of ${value}' using errcode = '23514', detail = 'Failing row contains (${value}).';
       end $$`,
    );
    try {
      await stage.sql(
        `create trigger ${name} before insert or update on schedule_versions for each row
           when (new.study_id = '${study.id}') execute function ${name}()`,
      );
      await study.window(45);
      await until(() => told().includes('23514') || undefined, { what: 'the log to have the fault' });
    } finally {
      await stage.sql(`drop function ${name}() cascade`);
    }
    expect(told())
      .to.match(/Activity failed/)
      .and.match(/reanchorBatch/)
      .and.match(/at .*\.[jt]s:\d+/);
    expect(told()).to.not.include(value);
    await study.settled();
    expect((await person.versions()).length).to.be.greaterThan(1);
  });
});
