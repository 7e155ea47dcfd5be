import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { insertVersionsStatement } from '../../db/scheduling/schedule-writes.queries.js';
import { admin, newStudy } from '../support/http.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

const PARTICIPANTS = 500;

describe('The statement that writes a schedule', () => {
  let database: Database;
  let study: string;
  before(async () => {
    const { database_url } = await service();
    database = openDatabase({ url: database_url, name: 'schedule-plan', poolMax: 1 });
    study = (await newStudy(await admin())).id;
  });
  after(async () => database?.destroy());

  it('looks its participant up: it does not read the others', async () => {
    const tx = await database.transaction();
    try {
      await tx.raw(
        `select set_config('app.studies', ?, true), set_config('plan_cache_mode', 'force_generic_plan', true)`,
        [study],
      );
      await tx.raw(
        `insert into participants (study_id, participant_code) select ?, 'plan-' || n from generate_series(1, ?) n`,
        [study, PARTICIPANTS],
      );
      const { sql } = insertVersionsStatement([], []);
      await tx.raw(`prepare writes_schedule (jsonb, jsonb, uuid[]) as ${sql}`);
      const { rows } = await tx.raw(`explain (costs off) execute writes_schedule ('[]', '[]', '{}')`);
      const plan = (rows as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).to.include('participants_pkey').and.not.include('Seq Scan on participants');
    } finally {
      await tx.rollback();
    }
  });
});
