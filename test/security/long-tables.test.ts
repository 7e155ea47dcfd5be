import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { newStudy } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { MOST_MS, WatchedApi } from './costly/watched-api.js';

const RECORDS = 60_000;
const PARTICIPANTS = 10_000;

describe('Long tables keep nobody from being answered while a file or a proof is made of them', function () {
  this.timeout(300_000);
  let watched: WatchedApi | undefined, sql: pg.Client, study: Loose;
  /** A chain of no study, which is gone again before anybody verifies it. */
  const chain = randomUUID();
  before(async function () {
    watched = await WatchedApi.start({ STATEMENT_TIMEOUT_SECONDS: '60' });
    if (!watched) return this.skip();
    sql = new pg.Client({ connectionString: (await service()).database_url });
    await sql.connect();
    study = await newStudy(watched.admin);
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
    await watched.stop();
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
