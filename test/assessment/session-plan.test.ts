import { expect } from 'chai';
import { SESSION_BY_ID } from '../../db/assessment/sessions.queries.js';
import type { Database } from '../../db/client/database.js';
import { openDatabase } from '../../db/client/knex.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import { service } from '../support/service.js';

const SESSIONS = 5_000;

describe('The statement that reads a session', () => {
  let database: Database;
  let study: string, participant: string;
  before(async () => {
    const { database_url } = await service();
    database = openDatabase({ url: database_url, name: 'session-plan', poolMax: 1 });
    const http = await admin();
    study = (await newStudy(http)).id;
    participant = (await newParticipant(http, study)).id;
  });
  after(async () => database?.destroy());

  it('finds it by its id or its public id: it does not read the others', async () => {
    const tx = await database.transaction();
    try {
      await tx.raw(`select set_config('app.studies', ?, true)`, [study]);
      await tx.raw(
        `insert into assessment_sessions (study_id, participant_id, status, source, started_at, expires_at, completed_at)
         select ?, ?, 'completed', 'online', now(), now(), now() from generate_series(1, ?)`,
        [study, participant, SESSIONS],
      );
      // Statistics are the owner's; the service reads as its role, under row-level security.
      await tx.raw('set local role none');
      await tx.raw('analyze assessment_sessions');
      await tx.raw('set local role research_app');
      await tx.raw(`prepare reads_session (uuid, uuid) as ${SESSION_BY_ID}`);
      const { rows } = await tx.raw(`explain (costs off) execute reads_session ('${study}', '${study}')`);
      const plan = (rows as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']).join('\n');
      expect(plan)
        .to.include('assessment_sessions_pkey')
        .and.include('assessment_sessions_of_devices')
        .and.not.include('Seq Scan on assessment_sessions');
    } finally {
      await tx.rollback();
    }
  });
});
