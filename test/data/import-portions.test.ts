import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs, inFull } from '../support/in-full.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { formOf, imported, neverStarted, sendFile } from './stage.js';
import type { ImportAnswer } from './stage.js';

const COLUMNS = 'participant_code,external_id,site_code,preferred_language';
/** So many rows between two others that no portion holds both. They fail, which costs the least. */
const APART = 1_100,
  BETWEEN = ',,,zz';

/** The most are more than one statement has parameters for. */
const CHANGED = asMuchAs(3_000, 14_000);

/** Participants that are there when the file comes, by code: external id and language. */
const BEFORE: Record<string, { external_id?: string; preferred_language?: string }> = {
  'K-1': { external_id: 'X-1', preferred_language: 'de' },
  'K-2': { external_id: 'X-2' },
  'K-3': {},
  'K-4': { external_id: 'X-4' },
};
/** Rows of which each means something else when those before it are forgotten. */
const ROWS = [
  'N-1,Y-1,NEW,de', // a site that the import makes
  'K-1,X-9,,', // upsert: gives X-1 up
  'N-1,,BER,', // a code of the file
  'N-2,Y-1,NEW,', // an external id of the file
  'K-3,X-1,,', // an external id that was given up
  'N-3,X-1,,', // and again, for somebody new
  'N-4,X-9,NEWER,', // what K-1 has got meanwhile, in place of X-1
  'N-4,,NEW,en', // taken: the row before it failed
  'K-2,X-2,BER,', // upsert: changed in one thing
  'K-2,,,fr', // a code of the file that is of the study too
  ',Y-5,,', // without a code
  'N-5,,,no language',
  'N-5,Y-5,BER,', // taken, with an external id that stood in a row that failed
  'K-4,X-2,,', // of somebody of the file who has it
  'K-4,,,',
  'N-6,,NEWER,',
];
/**
 * Behind these a long file has the others: no row stands in one portion with one that it depends on. In the long form
 * each row stands alone.
 */
const LAST_OF_PORTION = inFull ? [...ROWS.keys()] : [1, 4, 6, 8, 11, 13];

describe('A file of participants that is longer than what is read at a time', function () {
  this.timeout(300_000);
  let http: Http;
  let database: pg.Client;
  const studies: string[] = [];
  before(async () => {
    http = await admin();
    database = new pg.Client({ connectionString: (await service()).database_url, options: '-c timezone=UTC' });
    await database.connect();
    await database.query(`select set_config('app.studies', '*', false)`);
  });
  afterEach(async () => {
    for (const id of studies.splice(0)) await neverStarted(database, id);
  });
  after(() => database.end());

  async function studyWith(known: typeof BEFORE): Promise<Loose> {
    const study = await newStudy(http);
    studies.push(study.id);
    await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'BER' });
    for (const [participant_code, fields] of Object.entries(known))
      await newParticipant(http, study.id, { participant_code, ...fields });
    return study;
  }
  const short = () => `${COLUMNS}\n${ROWS.join('\n')}\n`;
  /** The same rows, far from each other. */
  const long = (rows: readonly string[] = ROWS, lastOfPortion: readonly number[] = LAST_OF_PORTION) =>
    `${COLUMNS}\n${rows
      .flatMap((row, place) => (lastOfPortion.includes(place) ? [row, ...Array<string>(APART).fill(BETWEEN)] : [row]))
      .join('\n')}\n`;
  /** Where a row stands in it. */
  const rowOf = (place: number) => place + 2 + LAST_OF_PORTION.filter((last) => last < place).length * APART;
  /** What an answer says of the rows that matter, each called by its place among them. */
  function said(answer: ImportAnswer, standsAt: (place: number) => number) {
    const places = new Map([...ROWS.keys()].map((place) => [standsAt(place), place]));
    const placed = <T extends { row: number }>(list: T[]) =>
      list.flatMap((item) => (places.has(item.row) ? [{ ...item, row: places.get(item.row) }] : []));
    const {
      errors,
      imported_participants,
      skipped_participants,
      updated_participants,
      created_sites,
      success,
      imported_count,
      skipped_count,
      updated_count,
    } = answer;
    return {
      errors: placed(errors),
      imported: placed(imported_participants),
      skipped: placed(skipped_participants),
      updated: placed(updated_participants),
      created_sites,
      success,
      imported_count,
      skipped_count,
      updated_count,
    };
  }
  /** Who is in a study, and what is recorded of each. */
  async function left(studyId: string) {
    const { rows } = await database.query(
      `select p.participant_code, p.external_id, s.site_code, p.preferred_language,
         (select json_agg(json_build_array(l.action, l.audit_metadata->'fields') order by l.seq) from audit_log l where l.resource_id = p.id::text) as records
       from participants p left join sites s on s.id = p.site_id where p.study_id = $1 order by 1`,
      [studyId],
    );
    return rows as unknown[];
  }

  for (const query of [
    '?create_missing_sites=true',
    '?create_missing_sites=true&mode=upsert',
    '?skip_duplicates=false',
    '?mode=upsert&skip_duplicates=false',
  ]) {
    it(`says and writes the same wherever its rows stand, and as a dry run: ${query}`, async () => {
      const [near, far] = [await studyWith(BEFORE), await studyWith(BEFORE)];
      const expected = await imported(http, near.id, short(), query);
      const rehearsed = await imported(http, far.id, long(), `${query}&dry_run=true`);
      const answer = await imported(http, far.id, long(), query);
      expect({ ...rehearsed, dry_run: false }).to.deep.equal(answer);
      expect(said(answer, rowOf)).to.deep.equal(said(expected, (place) => place + 2));
      expect(answer.total_rows).to.equal(ROWS.length + LAST_OF_PORTION.length * APART);
      expect(answer.error_count).to.equal(expected.error_count + LAST_OF_PORTION.length * APART);
      for (const list of [answer.errors, answer.imported_participants, answer.skipped_participants])
        expect(list.map(({ row }) => row)).to.deep.equal(list.map(({ row }) => row).sort((a, b) => a - b));
      expect(await left(far.id)).to.deep.equal(await left(near.id));
    });
  }

  it('an external id that an earlier row gave up stays taken: the first row that wants it is refused', async () => {
    const study = await studyWith(BEFORE);
    const { errors } = await imported(http, study.id, long(), '?create_missing_sites=true&mode=upsert');
    expect(errors.map(({ row, code, message }) => [row, code, message])).to.deep.include.members([
      [rowOf(4), 'DUPLICATE_EXTERNAL_ID', 'external_id is that of another row of the file'],
      [rowOf(5), 'DUPLICATE_EXTERNAL_ID', 'external_id is that of another row of the file'],
    ]);
  });

  it('the answer is the same however the client takes it', async () => {
    const study = await studyWith({});
    const some = ROWS.slice(0, 4);
    const { type, content } = await formOf(long(some, [...some.keys()]));
    const sent = (encoding: string) =>
      fetch(`${http.base}/api/studies/${study.id}/participants/import/csv?dry_run=true`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${http.token!}`, 'Content-Type': type, 'Accept-Encoding': encoding },
        body: content,
      });
    const plain = await sent('identity');
    const bytes = Buffer.from(await plain.arrayBuffer());
    expect([plain.headers.get('content-encoding'), plain.headers.get('content-length')]).to.deep.equal([
      null,
      String(bytes.length),
    ]);
    expect((JSON.parse(bytes.toString()) as ImportAnswer).errors.length).to.be.greaterThan(some.length * APART);
    for (const encoding of ['gzip', 'br']) {
      const packed = await sent(encoding);
      expect([
        packed.status,
        packed.headers.get('content-encoding'),
        packed.headers.get('content-length'),
        packed.headers.get('content-type'),
      ]).to.deep.equal([200, encoding, null, plain.headers.get('content-type')]);
      expect(Buffer.from(await packed.arrayBuffer()).equals(bytes)).to.equal(true);
    }
  });

  it('each participant has its record, in the file’s order, the file’s own is the last, and the chain holds', async () => {
    const study = await studyWith({});
    const lines = Array.from({ length: 2 * APART }, (_, i) =>
      [`C-${i}`, i % 3 === 0 ? `E-${i}` : '', i % 5 === 0 ? 'BER' : '', i % 7 === 0 ? 'de' : ''].join(','),
    );
    await imported(http, study.id, `${COLUMNS}\n${lines.join('\n')}\n`);
    const { rows } = (await database.query(
      `select l.action, l.resource_type, l.user_id, l.request_id is not null as asked, l.audit_metadata as metadata, p.participant_code from audit_log l left join participants p on p.id::text = l.resource_id
       where l.study_id = $1 and l.action like 'participant%' order by l.seq`,
      [study.id],
    )) as { rows: Loose[] };
    const last = rows.pop()!;
    expect([last.action, (last.metadata as Loose).imported]).to.deep.equal(['participants_imported', 2 * APART]);
    expect(rows.map(({ participant_code, metadata }) => [participant_code, (metadata as Loose).fields])).to.deep.equal(
      lines.map((line) => {
        const [code, external, site, language] = line.split(',');
        return [
          code,
          [external && 'external_id', 'participant_code', language && 'preferred_language', site && 'site_code'].filter(
            (name) => name,
          ),
        ];
      }),
    );
    for (const row of rows)
      expect(row).to.include({
        action: 'participant_created',
        resource_type: 'participant',
        user_id: http.userId,
        asked: true,
      });
    expect(await http.expect(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).to.include({ valid: true });
  });

  it('leaves what another request changes meanwhile, where its row does not speak of it', async () => {
    const study = await studyWith({});
    const { id } = await newParticipant(http, study.id, { participant_code: 'L-1', email: 'old@example.org' });
    await database.query('begin');
    await database.query(`update participants set email = 'new@example.org' where id = $1`, [id]);
    const answer = imported(http, study.id, 'participant_code,arm\nL-1,B\n', '?mode=upsert');
    try {
      await until(
        async () =>
          (
            await database.query<{ waits: boolean }>(
              `select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) as waits`,
            )
          ).rows[0]!.waits,
        { what: 'the import to wait for the row' },
      );
    } finally {
      await database.query('commit');
    }
    expect(await answer).to.include({ updated_count: 1 });
    expect(await http.expect(200, 'GET', `/api/participants/${id}`)).to.include({ email: 'new@example.org', arm: 'B' });
  });

  it('changes thousands of participants at once, each with its message to the workflow', async () => {
    const study = await studyWith({});
    const file = (language: string) =>
      `${COLUMNS}\n${Array.from({ length: CHANGED }, (_, i) => `V-${i},,,${language}`).join('\n')}\n`;
    await imported(http, study.id, file('de'));
    await database.query('delete from outbox where study_id = $1', [study.id]);
    // As a queue is when it was counted while there was nothing in it.
    await database.query('vacuum analyze outbox');
    expect(await imported(http, study.id, file('fr'), '?mode=upsert')).to.include({
      success: true,
      updated_count: CHANGED,
    });
    const {
      rows: [records],
    } = (await database.query(
      `select count(*)::integer as n from audit_log where study_id = $1 and action = 'participant_changed'`,
      [study.id],
    )) as { rows: { n: number }[] };
    expect(records!.n).to.equal(CHANGED);

    // Anyone who looks through all of these messages does not do so for each of them, and nobody waits behind them.
    const other = await newStudy(http, { consent_mode: 'external' });
    const { id } = await newParticipant(http, other.id);
    const of = `/api/studies/${other.id}/participants/${id}`;
    await http.expect(201, 'POST', `${of}/consents`, { status: 'signed', signed_at: '2026-01-05T10:00:00Z' });
    await until(async () => (await http.get(`${of}/anchor-date`)).body.status === 'finalized', {
      timeout: 120_000,
      what: 'a consent that was given meanwhile to count',
    });
    const {
      rows: [left],
    } = (await database.query(
      `select count(*)::integer as n from outbox where study_id = $1 and topic = 'sources-changed'`,
      [study.id],
    )) as { rows: { n: number }[] };
    expect(left!.n, 'messages that gave way to it').to.be.above(CHANGED / 3);
    // The first of them are carried out all the same.
    await until(
      async () => {
        const {
          rows: [now],
        } = (await database.query(
          `select count(*)::integer as n from outbox where study_id = $1 and topic = 'sources-changed'`,
          [study.id],
        )) as { rows: { n: number }[] };
        return now!.n < left!.n;
      },
      { what: 'the messages to go out' },
    );
  });

  it('what fails late in the file undoes all of it', async () => {
    const study = await studyWith({});
    const filler = Array.from({ length: 2 * APART }, (_, i) => `Q-${i},,,`).join('\n');
    const answer = await sendFile(http, study.id, `${COLUMNS}\n${filler}\n"never closed,,,\n`);
    expect([answer.status, answer.body.code]).to.deep.equal([400, 'FILE_UNREADABLE']);
    expect(await left(study.id)).to.deep.equal([]);
  });

  it('the failed rows of all of it come as one file', async () => {
    const study = await studyWith(BEFORE);
    const [near, far] = await Promise.all(
      [short(), long()].map(async (text) =>
        (await sendFile(http, study.id, text, '?dry_run=true&mode=upsert&answer=failed_rows')).text.split('\n'),
      ),
    );
    const withoutRow = (lines: string[]) =>
      lines
        .filter((line) => !line.startsWith(BETWEEN))
        .map((line) => line.replace(/,\d+,(?=participant_code|external_id|site_code|preferred_language)/, ',#,'));
    expect(withoutRow(far!)).to.deep.equal(withoutRow(near!));
    expect(near!.length).to.be.greaterThan(5);
  });

  it('who sees one site alone learns of codes of others only that they are taken, in each portion', async () => {
    const study = await studyWith({});
    const [site] = (await http.expect(200, 'GET', `/api/studies/${study.id}/sites`)).items;
    const hidden = ['H-0', 'H-1', 'H-2'];
    for (const code of hidden)
      await newParticipant(http, study.id, { participant_code: code, external_id: `${code}-external` });
    const coordinator = await user(http, 'coordinator', { study_ids: [study.id], site_ids: [site!.id] });
    const rows = hidden.flatMap((code, i) => [
      `${code},,BER,`,
      `G-${i},${code}-external,BER,`,
      ...Array<string>(APART).fill(BETWEEN),
    ]);
    const answer = await imported(coordinator, study.id, `${COLUMNS}\n${rows.join('\n')}\n`, '?mode=upsert');
    expect(answer.imported_count).to.equal(0);
    expect(answer.errors.filter(({ code }) => code !== 'REQUIRED').map(({ row, code }) => [row, code])).to.deep.equal(
      hidden.flatMap((_, i) => [
        [2 + i * (APART + 2), 'DUPLICATE_PARTICIPANT_CODE'],
        [3 + i * (APART + 2), 'DUPLICATE_EXTERNAL_ID'],
      ]),
    );
    // None of them is passed over as if it were there, and a dry run writes nothing.
    const text = `${COLUMNS}\nN-1,,BER,\nH-0,,BER,\nG-0,H-0-external,BER,\n`;
    for (const query of ['?dry_run=true', '?dry_run=true', '']) {
      const { imported_count, skipped_count, errors } = await imported(coordinator, study.id, text, query);
      expect([imported_count, skipped_count, errors.map(({ row, code }) => [row, code])], query).to.deep.equal([
        1,
        1,
        [[4, 'DUPLICATE_EXTERNAL_ID']],
      ]);
    }
  });

  it('a long answer is kept whole under an Idempotency-Key', async () => {
    const study = await studyWith({});
    const raw = await formOf(`${COLUMNS}\n${Array.from({ length: 2 * APART }, (_, i) => `I-${i},,,`).join('\n')}\n`);
    const send = () =>
      http.post<ImportAnswer>(`/api/studies/${study.id}/participants/import/csv`, undefined, {
        raw,
        headers: { 'Idempotency-Key': key },
      });
    const key = randomUUID();
    const first = await send();
    const second = await send();
    expect(first.body.imported_count).to.equal(2 * APART);
    expect(second.headers.get('idempotent-replay')).to.equal('true');
    expect(second.body).to.deep.equal(first.body);
  });
});
