import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { formOf } from '../data/stage.js';
import { newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { service } from '../support/service.js';
import { MOST_MS, WatchedApi } from './costly/watched-api.js';

const MEGABYTE = 1024 * 1024;
/** Of a study's document; as long as it may be is a little more than the most. */
const DOCUMENT_MEGABYTES = asMuchAs(7.7, 18.7);
const CONFLICT_TRIALS = asMuchAs(15_000, 40_000);
const LIST_ROWS = asMuchAs(8_000, 20_000);
/** Of one table. */
const RECORDS = 60_000,
  PARTICIPANTS = 10_000;

interface Document {
  study: Record<string, unknown>;
  tables: Record<string, Record<string, unknown>[]>;
}

describe('However long a file is, others are answered while it is worked on', function () {
  this.timeout(300_000);
  let watched: WatchedApi | undefined, admin: Http, study: Loose;
  before(async function () {
    watched = await WatchedApi.start({ STATEMENT_TIMEOUT_SECONDS: '60' });
    if (!watched) return this.skip();
    ({ admin } = watched);
    study = await newStudy(admin);
  });
  after(() => watched?.stop());

  const longest = (work: () => Promise<unknown>) => watched!.longest(work);

  /** A study's document of nearly so many bytes, most of them in forms. */
  async function documentOf(bytes: number): Promise<string> {
    const { id } = await newParticipant(admin, study.id);
    const items = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`ITEM_${i}`, `an answer ${i}`]));
    const of = `/api/studies/${study.id}/participants/${id}/forms`;
    await admin.expect(201, 'POST', of, { form_oid: 'F', status: 'complete', items });
    const document = await admin.expect<Document>(200, 'GET', `/api/exports/studies/${study.id}/full`);
    const { form_instances: forms = [] } = document.tables;
    const [form] = forms;
    const room = JSON.stringify(form).length + 2;
    for (let size = JSON.stringify(document).length + room; size < bytes; size += room)
      forms.push({ ...form, id: randomUUID() });
    return JSON.stringify(document);
  }

  it('the import of a full export, and the export of what was imported', async () => {
    const content = await documentOf(DOCUMENT_MEGABYTES * MEGABYTE);
    let imported = '';
    const most = await longest(async () => {
      const { status, body, text } = await admin.send<Loose>(
        'POST',
        `/api/studies/import/full?study_code=${unique('IMP')}&study_name=Imported`,
        undefined,
        { raw: { type: 'application/json', content } },
      );
      expect(status, text.slice(0, 500)).to.equal(201);
      imported = String(body.study_id);
    });
    expect(most).to.be.below(MOST_MS);
    const read = async () => {
      const answer = await fetch(`${admin.base}/api/exports/studies/${imported}/full`, {
        headers: { Authorization: `Bearer ${admin.token!}` },
      });
      expect((await answer.arrayBuffer()).byteLength).to.be.greaterThan((DOCUMENT_MEGABYTES - 0.7) * MEGABYTE);
    };
    expect(await longest(read)).to.be.below(MOST_MS);
  });

  /** A device's body that no item of is good. */
  const inBulk = async (content: string) => {
    const { status, text } = await admin.send('POST', '/api/sync/bulk', undefined, {
      raw: { type: 'application/json', content },
    });
    expect(status, text.slice(0, 500)).to.equal(200);
  };
  const RAW: Record<string, () => string> = {
    numbers: () => `{"sessions":[{"trials":[${'0.30000000000000004,'.repeat(asMuchAs(330_000, 980_000))}0]}]}`,
    lists: () => `{"sessions":[{"trials":[${'[],'.repeat(990_000)}0]}]}`,
    'texts with escapes': () => `{"sessions":[{"a":[${'"\\u0041",'.repeat(asMuchAs(330_000, 990_000))}0]}]}`,
    'one text': () => `{"sessions":["${'ä'.repeat(asMuchAs(4_000_000, 9_990_000))}"]}`,
    'one text of escaped quotes': () => `{"sessions":["${'\\"'.repeat(asMuchAs(4_000_000, 9_990_000))}"]}`,
    'one text of backslashes': () => `{"sessions":["${'\\'.repeat(asMuchAs(8_000_000, 19_980_000))}"]}`,
    'one text of numbered characters': () => `{"sessions":["${'\\u00e4'.repeat(asMuchAs(1_300_000, 3_300_000))}"]}`,
  };
  for (const [what, content] of Object.entries(RAW))
    it(`raw data that a device sends: ${what}`, async () => {
      const body = content();
      expect(body.length).to.be.greaterThan(2 * MEGABYTE);
      expect(await longest(() => inBulk(body))).to.be.below(MOST_MS);
    });

  const trial = (i: number, data?: object) => ({
    task: 'stroop',
    trial_index: i,
    rt: 400 + (i % 100) / 8,
    correct: true,
    timestamp: new Date(Date.now() - 10_000_000 + i * 100).toISOString(),
    ...(data && { data }),
  });
  const TRIALS: Record<string, () => object[]> = {
    'as many trials as there may be': () => Array.from({ length: 50_000 }, (_, i) => trial(i)),
    'with data of their own': () =>
      Array.from({ length: asMuchAs(15_000, 50_000) }, (_, i) =>
        trial(i, { response: `${'x'.repeat(180)}${i}`, at: { b: i, c: [1] } }),
      ),
    'of many numbers in one trial': () => [
      trial(0, { a: Array.from({ length: asMuchAs(300_000, 1_000_000) }, (_, i) => i + 0.1) }),
    ],
    'of many objects in one answer': () => [
      trial(0, { response: Array.from({ length: asMuchAs(250_000, 900_000) }, (_, i) => ({ a: i })) }),
    ],
    'of one text in one trial': () => [trial(0, { a: 'ä\n'.repeat(asMuchAs(2_000_000, 4_900_000)) })],
  };
  for (const [what, trials] of Object.entries(TRIALS))
    it(`a submission ${what}`, async () => {
      const { id } = await newParticipant(admin, study.id);
      const body = { task_summaries: { stroop: { mean_rt: 500 } }, raw_trials: trials() };
      const most = await longest(async () => {
        const started = { study_id: study.id, participant_id: id };
        const { sessionId } = await admin.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', started);
        const content = JSON.stringify({ session_id: sessionId, ...body });
        const { status, text } = await admin.send('POST', '/api/submit', undefined, {
          raw: { type: 'application/json', content },
          headers: { 'X-Session-ID': sessionId },
        });
        expect(status, text.slice(0, 500)).to.equal(200);
      });
      expect(most).to.be.below(MOST_MS);
    });

  it('a submission whose last trial does not fit: it is named, and nothing is kept', async () => {
    const { id } = await newParticipant(admin, study.id);
    const started = { study_id: study.id, participant_id: id };
    const { sessionId } = await admin.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', started);
    const raw_trials = [...Array.from({ length: 20_000 }, (_, i) => trial(i)), { ...trial(20_000), rt: 'slow', b: 1 }];
    const { status, body } = await admin.send(
      'POST',
      '/api/submit',
      { session_id: sessionId, task_summaries: {}, raw_trials },
      { headers: { 'X-Session-ID': sessionId } },
    );
    expect(status).to.equal(422);
    expect(body.errors.map(({ path, code }) => `${path} ${code}`)).to.have.members([
      'raw_trials.20000.b UNKNOWN_FIELD',
      'raw_trials.20000.rt TYPE',
    ]);
    expect(body.errors[0]!.message).to.match(/^raw_trials\.20000\./);
  });

  it('a conflict of many trials: a list is without them, the conflict itself has them', async () => {
    const { id } = await newParticipant(admin, study.id);
    const local = { session: unique('s'), response: unique('r') };
    const [startedAt, completedAt] = [2, 1].map((days) => new Date(Date.now() - days * 86_400_000).toISOString());
    const synced = async (rt: number) => {
      const trials = Array.from({ length: CONFLICT_TRIALS }, (_, i) => ({
        ...trial(i, { response: `${i} of ${rt}` }),
        rt,
      }));
      const session = { id: local.session, participantId: id, studyId: study.id, status: 'completed' };
      const { status, text } = await admin.send('POST', '/api/sync/bulk', {
        sessions: [{ ...session, startedAt, completedAt }],
        responses: [{ id: local.response, sessionId: local.session, task: 'stroop', trials }],
      });
      expect(status, text.slice(0, 500)).to.equal(200);
    };
    await synced(300);
    await synced(301);
    const list = `/api/studies/${study.id}/sync-conflicts?limit=500`;
    const { items } = await admin.expect<Loose>(200, 'GET', list);
    const [conflict] = items.filter(({ participant_id, kind }) => participant_id === id && kind === 'response');
    const short = conflict!.local_content as Record<string, unknown>;
    expect(short).to.include({ task: 'stroop' });
    expect(short.left_out).to.include('trials');
    expect(short.trials).to.equal(undefined);
    const whole = await admin.expect<Loose>(200, 'GET', `/api/studies/${study.id}/sync-conflicts/${conflict!.id}`);
    expect((whole.local_content as { trials: unknown[] }).trials).to.have.length(CONFLICT_TRIALS);
    const read = () =>
      fetch(`${admin.base}/api/studies/${study.id}/sync-conflicts/${conflict!.id}`, {
        headers: { Authorization: `Bearer ${admin.token!}` },
      }).then((answer) => answer.arrayBuffer());
    expect(await longest(read)).to.be.below(MOST_MS);
    expect(await longest(() => admin.get(list))).to.be.below(MOST_MS);
  });

  it('the import of a list of participants', async () => {
    const rows = Array.from({ length: LIST_ROWS }, (_, i) => `P-${i},E-${i},,de,p${i}@example.org`);
    const content = `participant_code,external_id,site_code,preferred_language,email\n${rows.join('\n')}\n`;
    const raw = await formOf(content);
    const path = `/api/studies/${study.id}/participants/import/csv?dry_run=true`;
    const most = await longest(async () => {
      const { status, text } = await admin.send('POST', path, undefined, { raw });
      expect(status, text.slice(0, 500)).to.equal(200);
    });
    expect(most).to.be.below(MOST_MS);
  });

  describe('Long tables keep nobody from being answered while a file or a proof is made of them', () => {
    let sql: pg.Client, study: Loose;
    /** A chain of no study, which is gone again before anybody verifies it. */
    const chain = randomUUID();
    before(async () => {
      sql = new pg.Client({ connectionString: (await service()).database_url });
      await sql.connect();
      study = await newStudy(admin);
    });
    after(async () => {
      if (!watched) return;
      await sql.query('rollback');
      await asOwner(
        'delete from audit_log where chain = $1',
        'delete from audit_checkpoints where chain = $1',
        'delete from audit_chains where chain = $1',
      );
      await sql.query('delete from participants where study_id = $1', [study.id]);
      await sql.end();
    });

    /** Statements about the chain, past the triggers that keep the log. */
    async function asOwner(...statements: string[]): Promise<void> {
      await sql.query('begin');
      await sql.query('set local session_replication_role = replica');
      for (const statement of statements) await sql.query(statement, [chain]);
      await sql.query('commit');
    }

    const read = async (method: string, path: string, body?: object): Promise<string> => {
      const answer = await fetch(`${watched!.admin.base}${path}`, {
        method,
        headers: { Authorization: `Bearer ${watched!.admin.token!}`, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      expect(answer.status, text.slice(0, 300)).to.equal(200);
      return text;
    };

    it('the proof of a record of a long chain', async () => {
      await asOwner(
        `insert into audit_log (seq, chain, study_id, action, resource_type, audit_metadata, created_at, prev_hash, hash)
         select n, $1::varchar, ($1::varchar)::uuid, 'did', 'thing', '{}', now(),
           encode(sha256(('p' || n)::bytea), 'hex'), encode(sha256(('h' || n)::bytea), 'hex')
         from generate_series(1, ${RECORDS}) n`,
        `insert into audit_checkpoints (chain, seq, head, created_at, public_key, signature, root, previous_rows, witness,
           peaks, key_id)
         select chain, ${RECORDS}, hash, now(), '', '', hash, 0, decode(repeat('00', 8 * ${RECORDS}), 'hex'), '', ''
         from audit_log where chain = $1 and seq = ${RECORDS}`,
      );
      const most = await watched!.longest(async () => {
        const proof = await read('GET', `/api/audit/${chain}%2F${RECORDS - 1}/proof`);
        expect((JSON.parse(proof) as Loose).inclusion).to.include({ tree_size: RECORDS, leaf_index: RECORDS - 2 });
      });
      expect(most).to.be.below(MOST_MS);
    });

    describe('of participants', () => {
      before(() =>
        // The sweep for participants without a running workflow leaves those of tomorrow alone.
        sql.query(
          `insert into participants (study_id, participant_code, status, created_at)
           select $1, 'L-' || n, 'enrolled', now() + interval '1 day' from generate_series(1, $2::int) n`,
          [study.id, PARTICIPANTS],
        ),
      );

      it('as a workbook', async () => {
        const workbook = () => read('POST', '/api/exports/xlsx', { study_id: study.id, dataset: 'participants' });
        expect(await watched!.longest(workbook)).to.be.below(MOST_MS);
      });

      it('as ODM', async () => {
        const odm = async () => {
          const document = await read('GET', `/api/exports/studies/${study.id}/odm`);
          expect(document.split('<SubjectData ').length).to.equal(1 + PARTICIPANTS);
        };
        expect(await watched!.longest(odm)).to.be.below(MOST_MS);
      });
    });
  });
});
