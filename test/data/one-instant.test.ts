import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { contentHash } from '../../db/exports/full-study/content.js';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { Site, trials } from '../assessment/stage.js';
import { admin, unique } from '../support/http.js';
import type { Http } from '../support/http.js';
import { service } from '../support/service.js';

const EXPORTS = 4,
  WIDE = 10,
  WRITERS = 3;
/** Each session that is written here has a metric of its own, and a wide export a column for each: so many by export. */
const SESSIONS_EACH = 60;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Does `write` over and over while `look` goes on. */
async function meanwhile<T>(write: (writer: number) => Promise<void>, look: () => Promise<T>): Promise<T> {
  let over = false;
  const writers = Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      while (!over) await write(writer);
    }),
  );
  try {
    return await look();
  } finally {
    over = true;
    await writers;
  }
}

/** Exports so often at least, and until more is there than the first time. */
async function exportedAgain<T>(least: number, ask: () => Promise<T>, size: (of: T) => number): Promise<T[]> {
  const all = [await ask()];
  while (all.length < least || size(all.at(-1)!) <= size(all[0]!)) all.push(await ask());
  return all;
}

describe('What is exported while people write', function suite() {
  this.timeout(180_000);
  let http: Http, site: Site;
  before(async () => {
    http = await admin();
  });
  beforeEach(async () => {
    site = await Site.open({ timezone: 'UTC', consent_mode: 'external' }, http);
  });

  it('the whole study is of one instant: nothing in it names what is not there, and what its audit tells of is in its tables', async () => {
    const full = (id: string) => http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${id}/full`);
    const documents = await meanwhile(
      async () => {
        const person = await site.newParticipant();
        const visit = await site.visit({ participant_id: person.id });
        const session = await site.session({ participant_id: person.id, visit_id: visit.id });
        expect(
          (
            await site.submit(session, {
              task_summaries: { stroop: { mean_rt: 300 } },
              raw_trials: trials('stroop', 2),
            })
          ).status,
        ).to.equal(200);
        expect((await site.end(session)).status).to.equal(200);
      },
      () =>
        exportedAgain(
          EXPORTS,
          () => full(site.study.id),
          ({ tables }) => tables.assessment_sessions!.length,
        ),
    );
    for (const { tables, audit } of documents) {
      const there = (table: string) => new Set(tables[table]!.map(({ id }) => id));
      for (const [name, table] of [
        ['participant_id', 'participants'],
        ['session_id', 'assessment_sessions'],
        ['visit_id', 'scheduled_visits'],
        ['schedule_version_id', 'schedule_versions'],
        ['visit_window_id', 'visit_windows'],
        ['site_id', 'sites'],
      ] as const) {
        const known = there(table);
        for (const [by, rows] of Object.entries(tables))
          for (const row of rows)
            if (typeof row[name] === 'string' && UUID.test(row[name]))
              expect(known.has(row[name]), `${by}.${name}`).to.equal(true);
      }
      const told = audit as { action: string; resource_id: string }[];
      for (const [action, table] of [
        ['participant_created', 'participants'],
        ['session_started', 'assessment_sessions'],
      ] as const) {
        expect(
          told.filter((one) => one.action === action).map(({ resource_id }) => resource_id),
          action,
        ).to.have.members([...there(table)] as string[]);
      }
      const done = tables.scheduled_visits!.filter(({ status }) => status === 'completed').map(({ id }) => id);
      expect(
        tables.assessment_sessions!.filter(({ status }) => status === 'completed').map(({ visit_id }) => visit_id),
        'completed with their visits',
      ).to.have.members(done);
    }
    for (const document of [documents[0]!, documents.at(-1)!]) {
      const loaded = await http.expect<{ study_id: string; content_sha256: string }>(
        201,
        'POST',
        `/api/studies/import/full?study_code=${unique('COPY')}&study_name=A%20copy`,
        document,
      );
      expect([loaded.content_sha256, contentHash(await full(loaded.study_id))]).to.deep.equal([
        contentHash(document),
        contentHash(document),
      ]);
    }
  });

  it('a wide export has a column for each value of its rows', async () => {
    const clients = await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        const client = new pg.Client({ connectionString: (await service()).database_url });
        await client.connect();
        return client;
      }),
    );
    let asked = 0,
      written = 0;
    const ask = () => {
      asked += 1;
      return http.expect<{ rows: Record<string, unknown>[] }>(200, 'POST', '/api/exports/json', {
        study_id: site.study.id,
        dataset: 'task_summaries',
        layout: 'wide',
      });
    };
    try {
      const exported = await meanwhile(
        async (writer) => {
          if (written >= asked * SESSIONS_EACH) return pause(20);
          const n = (written += 1);
          await clients[writer]!.query(
            `with made as (insert into assessment_sessions (study_id, participant_id, status, started_at, expires_at) values ($1, $2, 'active', now(), now() + interval '1 day') returning id)
           insert into session_tasks (session_id, task, study_id, summary, computed_summary, trial_count, content_hash) select id, 'stroop', $1, jsonb_build_object($3::text, 1), '{}', 0, repeat('0', 64) from made`,
            [site.study.id, site.participant.id, `m${n}`],
          );
        },
        () => exportedAgain(WIDE, ask, ({ rows }) => rows.length),
      );
      const without = exported.map(
        ({ rows }) =>
          rows.filter(
            (row) => !Object.entries(row).some(([name, value]) => name.startsWith('stroop.m') && value !== null),
          ).length,
      );
      expect(without, 'rows that are there without their value').to.deep.equal(exported.map(() => 0));
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  });
});
