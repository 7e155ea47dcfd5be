import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { contentHash } from '../../db/exports/full-study/content.js';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { seesEverything } from '../support/everything.js';
import { until } from '../support/until.js';
import { day } from '../assessment/stage.js';
import { filledStudy } from './filled-study.js';
import type { FilledStudy } from './filled-study.js';
import { formOf } from './stage.js';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

describe('A whole study, out and in again', () => {
  let http: Http;
  let filled: FilledStudy;
  let document: StudyDocument;
  before(async function fill() {
    this.timeout(180_000);
    http = await admin();
    filled = await filledStudy(http);
    document = await full(filled.study.id);
  });
  const full = (id: string) => http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${id}/full`);
  const load = (body: object, query = '', by = http) => by.post(`/api/studies/import/full${query}`, body);
  const into = async (
    body: object,
    query: string,
  ): Promise<Loose & { study_id: string; content_sha256: string; rows: Record<string, number> }> => {
    const answer = await load(body, query);
    expect(answer.status, answer.text.slice(0, 500)).to.equal(201);
    return answer.body as never;
  };
  const fresh = () => `?study_code=${unique('COPY')}&study_name=A%20copy`;

  it('has everything of the study, and no secret', () => {
    expect(document).to.include({ format: 'research-assessment-study', format_version: 1 });
    for (const table of [
      'sites',
      'batteries',
      'battery_modules',
      'battery_versions',
      'visit_windows',
      'enrollment_policies',
      'participants',
      'consents',
      'eligibility_assessments',
      'randomizations',
      'form_instances',
      'manual_anchor_entries',
      'anchor_dates',
      'anchor_date_history',
      'anchor_decisions',
      'schedule_versions',
      'scheduled_visits',
      'visit_states',
      'assessment_sessions',
      'session_tasks',
      'raw_trial_chunks',
      'domain_events',
    ]) {
      expect(document.tables[table], table).to.be.an('array').that.is.not.empty;
    }
    expect(document.audit!.length).to.be.greaterThan(5);
    expect(JSON.stringify(document)).not.to.match(/_encrypted|token_hash|pseudonym/);
    expect(JSON.stringify(document)).not.to.match(/\d\+00:00"/);
    expect(document.tables.participants![0]!.created_at).to.match(/Z$/);
    expect(document.tables.raw_trial_chunks![0]!.at).to.satisfy((at: string[]) => at.every((one) => one.endsWith('Z')));
  });

  it('comes back the same: exported, loaded into a new study and exported again, the content is equal and every id is new', async () => {
    const loaded = await into(document, fresh());
    const again = await full(loaded.study_id);
    expect(contentHash(again)).to.equal(contentHash(document));
    expect(loaded.content_sha256).to.equal(contentHash(document));
    for (const [table, rows] of Object.entries(document.tables))
      expect(again.tables[table]!.length, table).to.equal(rows.length);
    const ids = (of: StudyDocument) =>
      new Set(
        Object.values(of.tables).flatMap((rows) => rows.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))),
      );
    const old = ids(document);
    for (const id of JSON.stringify({ ...again.tables, raw_trial_chunks: [] }).match(UUID)!)
      expect(old.has(id), id).to.equal(false);
    expect(contentHash({ ...document, tables: { ...document.tables, sites: [] } })).not.to.equal(contentHash(document));
  });

  it('what an erasure has kept of a participant is equal in the copy, and the hash is of what was stored', async () => {
    const study = await newStudy(http, { consent_mode: 'external' });
    const { id } = await newParticipant(http, study.id, { email: 'erased@example.org' });
    const at = `/api/studies/${study.id}/participants/${id}`;
    await http.expect(201, 'POST', `${at}/forms`, {
      form_oid: 'DEMOGRAPHICS',
      status: 'complete',
      items: { AGE: 61, SEX: 'F', first_name: 'Zora' },
    });
    await http.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: 'asked for it' });
    await http.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'asked for it' });
    const before = await full(study.id);
    expect(before.tables.form_instances!.map(({ items }) => items)).to.deep.equal([{ AGE: 61, SEX: 'F' }]);
    const loaded = await into(before, fresh());
    const after = await full(loaded.study_id);
    expect(after.tables.form_instances!.map(({ items }) => items)).to.deep.equal([{ AGE: 61, SEX: 'F' }]);
    expect(contentHash(after)).to.equal(contentHash(before));
    expect(loaded.content_sha256).to.equal(contentHash(after));
    // A document that somebody has edited brings no name back, and the hash tells that it is another content.
    const edited = {
      ...before,
      tables: {
        ...before.tables,
        form_instances: before.tables.form_instances!.map((row) => ({
          ...row,
          items: { AGE: 61, first_name: 'Zora' },
        })),
      },
    };
    const other = await into(edited, fresh());
    const stored = await full(other.study_id);
    expect(stored.tables.form_instances!.map(({ items }) => items)).to.deep.equal([{ AGE: 61 }]);
    expect(other.content_sha256).to.equal(contentHash(stored));
  });

  it('a time zone of a document that the database does not know is refused by its place: it would stop the visits of all studies', async () => {
    const { sites, participants } = document.tables;
    const zoned = (rows: typeof sites, timezone: string) => rows!.map((row) => ({ ...row, timezone }));
    for (const [edited, path] of [
      [{ ...document, study: { ...document.study, timezone: 'Bad/Zone' } }, 'study.timezone'],
      [{ ...document, tables: { ...document.tables, sites: zoned(sites, 'Nowhere/X') } }, 'tables.sites.0.timezone'],
      [
        { ...document, tables: { ...document.tables, participants: zoned(participants, 'IST') } },
        'tables.participants.0.timezone',
      ],
    ] as const) {
      const answer = await load(edited, fresh());
      expect([answer.status, answer.body.errors?.map((fault) => fault.path)], path).to.deep.equal([422, [path]]);
    }
    const loaded = await into({ ...document, study: { ...document.study, timezone: 'CET' } } as StudyDocument, fresh());
    expect((await http.expect(200, 'GET', `/api/studies/${loaded.study_id}`)).timezone).to.equal('Europe/Brussels');
    const database = await seesEverything();
    try {
      const stored = database.query(`update studies set timezone = 'Nowhere/X' where id = $1`, [loaded.study_id]);
      expect(await stored.catch(({ constraint }: { constraint: string }) => constraint)).to.equal(
        'studies_timezone_known',
      );
    } finally {
      await database.end();
    }
  });

  it('a schedule of a document has the bounds of others: one without end would stop the worker of all studies', async () => {
    const event = { id: randomUUID(), event_oid: 'E', name: 'E', target_day: 1 };
    for (const [table, row, field] of [
      ['event_definitions', { ...event, repeat_count: 20_000_000, repeat_every_days: 1 }, 'repeat_count'],
      ['event_definitions', { ...event, window_after: 2_000_000_000 }, 'window_after'],
      ['visit_windows', { ...document.tables.visit_windows![0], target_day: 10_000_000 }, 'target_day'],
      ['holiday_calendars', { id: randomUUID(), weekend_days: [1, 2, 3, 4, 5, 6, 7] }, 'weekend_days'],
    ] as const) {
      const answer = await load({ ...document, tables: { ...document.tables, [table]: [row] } }, fresh());
      expect([answer.status, answer.body.errors?.map((fault) => fault.path)], answer.text.slice(0, 300)).to.deep.equal([
        422,
        [`tables.${table}.0.${field}`],
      ]);
    }
    const notifications = { channels: ['email'], send_at: '99:99' };
    const config = { ...(document.study.config as object), notifications };
    const answer = await load({ ...document, study: { ...document.study, config } }, fresh());
    expect([answer.status, answer.body.errors?.map((fault) => fault.path)]).to.deep.equal([
      422,
      ['config.notifications.send_at'],
    ]);
  });

  it('a document whose instants have an offset, as they were written once, is loaded as the same', async () => {
    const earlier = JSON.parse(
      JSON.stringify(document, (_key, value: unknown) =>
        typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? `${value.slice(0, -1)}+00:00` : value,
      ),
    ) as StudyDocument;
    expect(earlier.tables.participants![0]!.created_at).to.match(/\+00:00$/);
    const loaded = await into(earlier, fresh());
    expect(loaded.content_sha256).to.equal(contentHash(document));
    expect((await full(loaded.study_id)).tables.consents!.map(({ signed_at }) => signed_at)).to.have.members(
      document.tables.consents!.map(({ signed_at }) => signed_at),
    );
  });

  it('the copy lives: its participants, versions, history and visits are seen, its anchors decide, its completed visit is not to do again', async () => {
    const copy = await into(document, fresh());
    const at = `/api/studies/${copy.study_id}`;
    const people = (await http.expect<{ items: Loose[] }>(200, 'GET', `${at}/participants?sort=created_at`)).items;
    expect(people.map(({ participant_code, status }) => [participant_code, status])).to.deep.include.members([
      ['=1+1', 'enrolled'],
      ['Zoë, "the third"', 'withdrawn'],
    ]);
    const person = people.find(({ participant_code }) => participant_code === '=1+1')!;
    const of = `${at}/participants/${person.id}`,
      from = `/api/studies/${filled.study.id}/participants/${filled.people[0]!.id}`;
    const history = async (path: string) =>
      (await http.expect<Loose[]>(200, 'GET', `${path}/anchor-date/history`)).map(
        ({ event_type, enrollment_date_value, reason, created_at }) => [
          event_type,
          enrollment_date_value,
          reason,
          created_at,
        ],
      );
    expect(await history(of)).to.deep.equal(await history(from));
    const versions = async (path: string) =>
      (await http.expect<Loose[]>(200, 'GET', `${path}/schedule-versions`)).map(
        ({ version_number, is_current, status, generated_at }) => [version_number, is_current, status, generated_at],
      );
    expect(await versions(of)).to.deep.equal(await versions(from));
    const visits = async (id: string) =>
      (
        await http.expect<{ items: Loose[] }>(200, 'GET', `/api/schedules/visits?participant_id=${id}&sort=target_date`)
      ).items
        .map(({ name, status, target_date }) => [name, status, target_date])
        .sort();
    expect(await visits(person.id)).to.deep.equal(await visits(filled.people[0]!.id));
    const session = (await http.expect<{ items: Loose[] }>(200, 'GET', `/api/sessions?participant_id=${person.id}`))
      .items[0]!;
    expect((await http.expect(200, 'GET', `/api/sessions/${session.id}/trials`)).total).to.equal(1_200);
    const moved = await until(
      async () => {
        const answer = await http.post(`${of}/anchor-date/override`, {
          new_enrollment_date: day(-4),
          reason: 'the copy moves',
        });
        if (answer.status === 503) return undefined;
        expect(answer.status, answer.text).to.equal(200);
        return answer.body;
      },
      { timeout: 60_000, what: 'the copy to decide' },
    );
    expect(moved.impact).to.include({ completed_visits_to_reconcile: 1 });
    expect(
      (await visits(person.id)).filter(([name, status]) => name === 'Visit W0' && status !== 'superseded'),
    ).to.have.length(1);
    expect(await visits(filled.people[0]!.id)).to.have.length(document.tables.scheduled_visits!.length);
    const [first] = await http.expect<Loose[]>(200, 'GET', `${of}/anchor-date/history`);
    expect((await http.expect(200, 'POST', `${of}/anchor-date/decisions/${first!.id}/rederive`)).same).to.equal(true);
  });

  it('into an empty study, named by header, query, body or form; a second time it is not empty', async () => {
    const study = await newStudy(http);
    const answer = await http.post(`/api/studies/import/full`, document, { headers: { 'X-Study-ID': study.id } });
    expect(answer.status, answer.text.slice(0, 300)).to.equal(201);
    expect(answer.body).to.include({ study_id: study.id, study_code: study.study_code });
    expect((await load(document, `?study_id=${study.id}`)).body.code).to.equal('STUDY_NOT_EMPTY');
    const others = [await newStudy(http), await newStudy(http), await newStudy(http)];
    expect((await load({ study_id: others[0]!.id, document })).status).to.equal(201);
    expect((await load({ ...document, study_id: others[1]!.id })).status).to.equal(201);
    const form = await http.post('/api/studies/import/full', undefined, {
      raw: await formOf(JSON.stringify(document), { study_id: others[2]!.id }),
    });
    expect(form.status, form.text.slice(0, 300)).to.equal(201);
    const taken = await newStudy(http);
    await newParticipant(http, taken.id);
    expect((await load(document, `?study_id=${taken.id}`)).status).to.equal(409);
  });

  it('what is no such document, or names no target, changes nothing', async () => {
    expect((await load(document)).status).to.equal(422);
    expect((await load(document, `?study_code=${unique('X')}`)).status).to.equal(422);
    expect((await load({ hello: 'world' }, fresh())).body.code).to.equal('FILE_UNREADABLE');
    expect((await load({ ...document, format_version: 99 }, fresh())).body.code).to.equal('FILE_UNREADABLE');
    expect(
      (await load({ ...document, tables: { ...document.tables, users: [{ id: 1 }] } }, fresh())).body.code,
    ).to.equal('FILE_UNREADABLE');
    expect((await load(document, `?study_code=${filled.study.study_code as string}&study_name=x`)).body.code).to.equal(
      'STUDY_CODE_TAKEN',
    );
    expect(
      (
        await http.post(`/api/studies/import/full${fresh()}`, undefined, {
          raw: { type: 'application/json', content: '{' },
        })
      ).status,
    ).to.equal(400);
    const stranger = await newParticipant(http, (await newStudy(http)).id);
    const code = unique('FOREIGN');
    const foreign = await load(
      {
        ...document,
        tables: { ...document.tables, consents: [{ ...document.tables.consents![0], participant_id: stranger.id }] },
      },
      `?study_code=${code}&study_name=x`,
    );
    expect([foreign.status, foreign.body.code]).to.deep.equal([400, 'FILE_UNREADABLE']);
    const broken = await load(
      {
        ...document,
        tables: {
          ...document.tables,
          participants: document.tables.participants!.map((row) => ({ ...row, status: 'lost' })),
        },
      },
      `?study_code=${code}&study_name=x`,
    );
    expect(broken.status).to.equal(422);
    for (const [table, column, value] of [
      ['participants', 'date_of_birth', '0000-01-01'],
      ['consents', 'signed_at', '0000-06-01T00:00:00Z'],
      ['raw_trial_chunks', 'at', ['0000-06-01T00:00:00Z']],
    ] as const) {
      const early = await load(
        {
          ...document,
          tables: {
            ...document.tables,
            [table]: document.tables[table]!.map((row, i) => (i === 0 ? { ...row, [column]: value } : row)),
          },
        },
        `?study_code=${code}&study_name=x`,
      );
      expect(
        [early.status, early.body.errors?.map((fault) => [fault.path, fault.code])],
        early.text.slice(0, 300),
      ).to.deep.equal([422, [[`tables.${table}.0.${column}`, 'FORMAT']]]);
    }
    const free = await load(
      { ...document, study: { ...document.study, start_date: '0000-01-01' } },
      `?study_code=${code}&study_name=x`,
    );
    expect([free.status, free.body.errors?.map((fault) => fault.path)], free.text.slice(0, 300)).to.deep.equal([
      422,
      ['study.start_date'],
    ]);
    expect((await http.expect(200, 'GET', `/api/studies?search=${code}`)).total).to.equal(0);
  });

  it('a row that cannot be stored is told by its table, and its column or rule', async () => {
    const changed = (table: string, change: (row: Record<string, unknown>) => Record<string, unknown>[]) => ({
      ...document,
      tables: { ...document.tables, [table]: document.tables[table]!.flatMap(change) },
    });
    const without = (row: Record<string, unknown>, name: string) =>
      Object.fromEntries(Object.entries(row).filter(([column]) => column !== name));
    for (const [content, path, code] of [
      [changed('participants', (row) => [without(row, 'participant_code')]), 'participant_code', 'REQUIRED'],
      [changed('participants', (row) => [row, { ...row, id: randomUUID() }]), '', 'DUPLICATE'],
      [changed('participants', (row) => [{ ...row, status: 'lost' }]), '', 'INVALID_VALUE'],
      [changed('participants', (row) => [{ ...row, date_of_birth: '2026-13-45' }]), '', 'INVALID_VALUE'],
    ] as const) {
      const refused = await load(content, fresh());
      expect(refused.status, refused.text).to.equal(422);
      expect(refused.body.errors[0]).to.include({ path: `tables.participants${path && `.${path}`}`, code });
    }
  });

  it('a value that there is no column for, as a newer release may have it, is not lost in silence', async () => {
    const withMore = (value: unknown) => ({
      ...document,
      tables: { ...document.tables, consents: document.tables.consents!.map((row) => ({ ...row, witness: value })) },
    });
    const refused = await load(withMore('Ada'), fresh());
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'FILE_UNREADABLE']);
    expect(refused.body.detail).to.contain('tables.consents.witness');
    const own = await load({ ...document, study: { ...document.study, colour: 'blue' } }, fresh());
    expect([own.status, own.body.detail]).to.deep.equal([
      400,
      'The document has values that this release has no column for: study.colour.',
    ]);
    expect((await load(withMore(null), fresh())).status).to.equal(201);
  });

  it('a battery that visits name and the document does not hold is left out, with a warning', async () => {
    const [visit, ...others] = document.tables.scheduled_visits!;
    const tables = { ...document.tables, scheduled_visits: [{ ...visit!, battery_id: 1_999_999_999 }, ...others] };
    const { study_id, warnings } = (await into({ ...document, tables }, fresh())) as unknown as {
      study_id: string;
      warnings: { code: string; message: string }[];
    };
    expect(warnings.find(({ code }) => code === 'UNKNOWN_BATTERY')?.message).to.include('1999999999');
    const copied = (await full(study_id)).tables.scheduled_visits!;
    expect(copied.map(({ battery_id }) => battery_id)).to.not.include(1_999_999_999);
    expect(copied).to.have.length(others.length + 1);
  });

  it('a study out of reach is 404, out and in; a data manager loads into a study, and makes none', async () => {
    const study = await newStudy(http);
    const manager = await user(http, 'data_manager', { study_ids: [study.id] });
    expect((await manager.get(`/api/exports/studies/${filled.study.id}/full`)).status).to.equal(404);
    expect((await load(document, `?study_id=${filled.study.id}`, manager)).status).to.equal(404);
    expect((await load(document, fresh(), manager)).status).to.equal(403);
    expect((await load(document, `?study_id=${study.id}`, manager)).status).to.equal(201);
    const researcher = await user(http, 'researcher', { study_ids: [] });
    expect((await load(document, fresh(), researcher)).status).to.equal(201);
  });
});
