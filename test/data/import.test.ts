import { expect } from 'chai';
import pg from 'pg';
import { admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { formOf, imported, neverStarted, sendFile, started } from './stage.js';

const HEADER = 'participant_code,external_id,site_code,preferred_language\n';

describe('Importing participants from CSV', () => {
  let http: Http;
  let study: Loose;
  let database: pg.Client;
  before(async () => {
    http = await admin();
    database = new pg.Client({ connectionString: (await service()).database_url, options: '-c timezone=UTC' });
    await database.connect();
    await database.query(`select set_config('app.studies', '*', false)`);
  });
  after(() => database.end());
  beforeEach(async () => {
    study = await newStudy(http);
    await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'BER' });
  });
  const participants = async () =>
    (
      await http.expect<{ items: Loose[]; total: number }>(
        200,
        'GET',
        `/api/studies/${study.id}/participants?limit=500&sort=created_at`,
      )
    ).items;
  const faults = (answer: { errors: { row: number; field: string | null; code: string }[] }) =>
    answer.errors.map(({ row, field, code }) => [row, field, code]);

  it('takes every row, with the anchor, audit record and workflow that enrolling one by one gives', async () => {
    const result = await imported(http, study.id, `${HEADER}P-1,R1,BER,de\nP-2,,,\n007,R3,,en-GB\n`);
    expect(result).to.deep.include({
      success: true,
      total_rows: 3,
      imported_count: 3,
      skipped_count: 0,
      error_count: 0,
      errors: [],
    });
    expect(result.imported_participants[0]).to.deep.equal({
      row: 2,
      participant_code: 'P-1',
      external_id: 'R1',
      site_code: 'BER',
    });
    const found = await participants();
    expect(
      found.map((p) => [
        p.participant_code,
        p.external_id,
        p.site_code,
        p.preferred_language,
        p.status,
        p.enrollment_date,
      ]),
    ).to.deep.equal([
      ['P-1', 'R1', 'BER', 'de', 'enrolled', null],
      ['P-2', null, null, null, 'enrolled', null],
      ['007', 'R3', null, 'en-GB', 'enrolled', null],
    ]);
    for (const { id } of found) {
      expect(await http.expect(200, 'GET', `/api/studies/${study.id}/participants/${id}/anchor-date`)).to.include({
        status: 'unset',
        version: 1,
      });
    }
    const { rows } = await database.query(
      `select resource_id, audit_metadata->'fields' as fields from audit_log where study_id = $1 and action = 'participant_created' order by seq`,
      [study.id],
    );
    expect(rows.map((row) => row.resource_id)).to.deep.equal(found.map(({ id }) => id));
    expect(rows[0].fields).to.deep.equal(['external_id', 'participant_code', 'preferred_language', 'site_code']);
    const summary = await database.query(
      `select audit_metadata from audit_log where study_id = $1 and action = 'participants_imported'`,
      [study.id],
    );
    expect(summary.rows[0].audit_metadata).to.include({ rows: 3, imported: 3 });
    await started(database, study.id);
  });

  it('a fact of somebody just imported does not wait until the workflows of the others are started', async () => {
    const lines = Array.from({ length: 2_000 }, (_, i) => `M-${i}`);
    const result = await imported(http, study.id, `participant_code\n${lines.join('\n')}\n`);
    expect(result.imported_count).to.equal(2_000);
    const [last] = (
      await http.expect<{ items: Loose[] }>(200, 'GET', `/api/studies/${study.id}/participants?search=M-1999`)
    ).items;
    await http.expect(201, 'POST', `/api/studies/${study.id}/participants/${last!.id}/consents`, {
      status: 'signed',
      signed_at: '2026-01-05T10:00:00Z',
    });
    await until(
      async () =>
        (await http.get(`/api/studies/${study.id}/participants/${last!.id}/anchor-date`)).body.status === 'finalized',
      { what: 'the consent to count' },
    );
    expect((await database.query(`select from outbox where study_id = $1`, [study.id])).rowCount).to.be.greaterThan(0);
    await neverStarted(database, study.id);
  });

  it('imports the valid rows although others fail, and names row, field and rule of each that does', async () => {
    const result = await imported(
      http,
      study.id,
      `${HEADER}A-1,,BER,de\n,R2,,\nA-3,,NOWHERE,\nA-4,,,not a language\nA-5,,,,surplus\n${'x'.repeat(65)},,,\nA-7,,,\n`,
    );
    expect(result).to.include({ success: false, total_rows: 7, imported_count: 2, skipped_count: 0, error_count: 5 });
    expect(faults(result)).to.deep.equal([
      [3, 'participant_code', 'REQUIRED'],
      [4, 'site_code', 'UNKNOWN_SITE'],
      [5, 'preferred_language', 'PATTERN'],
      [6, null, 'TOO_MANY_CELLS'],
      [7, 'participant_code', 'MAX_LENGTH'],
    ]);
    expect(result.imported_participants.map(({ row, participant_code }) => [row, participant_code])).to.deep.equal([
      [2, 'A-1'],
      [8, 'A-7'],
    ]);
    expect((await participants()).map((p) => p.participant_code)).to.deep.equal(['A-1', 'A-7']);
  });

  for (const [name, front, separator] of [
    ['sep=; alone', 'sep=;\r\n', ';'],
    ['SEP=, in quotes, padded to the width of the sheet', '"SEP=,",,,\r\n', ','],
    ['a tab by name, behind a byte order mark', '\ufeffsep=\t\r\n', '\t'],
    ['a bar by name', 'sep=|\r\n', '|'],
    ['a tab by its escape', 'sep=\\t\r\n', '\t'],
    ['a colon by name, behind a blank line', '\r\n"sep=:"\r\n', ':'],
    ['empty lines and a row of empty cells', '\r\n\r\n;;;\r\n', ';'],
  ] as const)
    it(`a header may have in front: ${name}; rows are counted with it`, async () => {
      const line = (...cells: string[]) => `${cells.join(separator)}\r\n`;
      const [taken, refused] = [unique('S'), unique('S')];
      const above = front.split('\r\n').length - 1;
      const result = await imported(
        http,
        study.id,
        front +
          line('participant_code', 'external_id', 'site_code') +
          line(taken, unique('E'), 'BER') +
          line(refused, '', 'NOWHERE'),
      );
      expect(faults(result)).to.deep.equal([[above + 3, 'site_code', 'UNKNOWN_SITE']]);
      expect(result.imported_participants.map(({ row, participant_code }) => [row, participant_code])).to.deep.equal([
        [above + 2, taken],
      ]);
    });

  it('what programs of other languages write in place of a value that a formula does not have is an error of its row', async () => {
    const errors = [
      '#N/A',
      '#WERT!',
      '#BEZUG!',
      '#NV',
      '#¡VALOR!',
      '#¿NOMBRE?',
      '#NOM?',
      '#N/D',
      '#ЗНАЧ!',
      'Err:502',
      '########',
    ];
    const rows = errors.map((value, i) => `F-${i},${value}`);
    const result = await imported(http, study.id, ['participant_code,external_id', ...rows, 'F-OK,#7'].join('\n'));
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal(
      errors.map((_, i) => [i + 2, 'external_id', 'FORMULA_ERROR']),
    );
    expect(result.imported_participants.map((one) => one.external_id)).to.deep.equal(['#7']);
  });

  it('a long number that a spreadsheet program shortened is an error of its row', async () => {
    const [code, site] = [unique('E'), unique('1E')];
    const result = await imported(
      http,
      study.id,
      ['participant_code;external_id', `1,23457E+15;`, `${code};1.2E+18`, `${site};1E5`].join('\n'),
    );
    expect(faults(result)).to.deep.equal([
      [2, 'participant_code', 'NUMBER_NOT_EXACT'],
      [3, 'external_id', 'NUMBER_NOT_EXACT'],
    ]);
    expect(result.imported_participants.map((one) => one.external_id)).to.deep.equal(['1E5']);
  });

  it('a date of birth that lies ahead is an error of its row', async () => {
    const result = await imported(http, study.id, 'participant_code,date_of_birth\nP-1,2999-01-01\nP-2,1950-01-01\n');
    expect(faults(result)).to.deep.equal([[2, 'date_of_birth', 'IN_FUTURE']]);
    const unread = await imported(http, study.id, 'participant_code,date_of_birth\nP-3,31.01.1960\n');
    expect(unread.errors.map(({ code, message, others }) => [code, message, others])).to.deep.equal([
      ['FORMAT', 'date_of_birth is not a valid date (YYYY-MM-DD)', undefined],
    ]);
    expect((await participants()).map((p) => [p.participant_code, p.date_of_birth])).to.deep.equal([
      ['P-2', '1950-01-01'],
    ]);
  });

  it('a title above the header is named as what it is', async () => {
    for (const [title, separator] of [
      ['Participants of spring', ','],
      ['Participants of spring', ';'],
      ['Participants of spring, Berlin', '\t'],
    ] as const) {
      const file = `${title}\n\nparticipant_code${separator}site_code\nT-1${separator}BER\n`;
      const answer = await sendFile(http, study.id, file);
      expect([answer.status, answer.body['code']]).to.deep.equal([400, 'HEADER_INVALID']);
      expect(answer.body['detail']).to.match(/Row 3 looks like the header: the rows above it have to go\./);
    }
  });

  it('a quoted line break is within its row, an empty line is a row without a participant', async () => {
    const result = await imported(
      http,
      study.id,
      `participant_code,notes,site_code\r\nB-1,"two\r\nlines, one cell",BER\r\n\r\nB-2,"say ""so""",NOWHERE\r\n`,
    );
    expect(result).to.include({ total_rows: 2, imported_count: 1 });
    expect(faults(result)).to.deep.equal([[4, 'site_code', 'UNKNOWN_SITE']]);
    expect(result.warnings.map(({ code }) => code)).to.deep.equal(['UNKNOWN_COLUMN']);
  });

  it('skips what is there already, in the study or earlier in the file; told not to skip, names it an error', async () => {
    await newParticipant(http, study.id, { participant_code: 'C-1', external_id: 'X-1' });
    const text = `${HEADER}C-1,,,\nC-2,X-2,,\nC-2,,,\nC-3,X-1,,\nC-4,X-2,,\n`;
    const skipped = await imported(http, study.id, text, '?dry_run=true');
    expect(skipped).to.include({ success: false, imported_count: 1, skipped_count: 2, error_count: 2 });
    expect(skipped.skipped_participants.map(({ row, reason }) => [row, reason])).to.deep.equal([
      [2, 'DUPLICATE_PARTICIPANT_CODE'],
      [4, 'DUPLICATE_IN_FILE'],
    ]);
    expect(faults(skipped)).to.deep.equal([
      [5, 'external_id', 'DUPLICATE_EXTERNAL_ID'],
      [6, 'external_id', 'DUPLICATE_EXTERNAL_ID'],
    ]);
    const strict = await imported(http, study.id, text, '?skip_duplicates=false');
    expect(strict).to.include({ success: false, imported_count: 1, skipped_count: 0, error_count: 4 });
    expect(faults(strict).slice(0, 2)).to.deep.equal([
      [2, 'participant_code', 'DUPLICATE_PARTICIPANT_CODE'],
      [4, 'participant_code', 'DUPLICATE_PARTICIPANT_CODE'],
    ]);
    expect(await imported(http, study.id, text)).to.include({ imported_count: 0, skipped_count: 3 });
  });

  it('a dry run answers the same and writes nothing', async () => {
    const text = `${HEADER}D-1,,NEW,\nD-2,,,bad language\n`;
    // Messages of what was done before leave the outbox meanwhile.
    const known = (await database.query(`select id from outbox where study_id = $1`, [study.id])).rows;
    const count = async () =>
      (
        await database.query(
          `select (select count(*) from participants where study_id = $1) + (select count(*) from sites where study_id = $1) + (select count(*) from audit_log where study_id = $1) + (select count(*) from outbox where study_id = $1 and not id = any($2)) as n`,
          [study.id, known.map(({ id }) => id as string)],
        )
      ).rows[0].n as string;
    const before = await count();
    const rehearsed = await imported(http, study.id, text, '?dry_run=true&create_missing_sites=true');
    expect(await count()).to.equal(before);
    for (const [yes, no] of [
      ['True', 'False'],
      ['1', '0'],
      ['TRUE', 'false'],
    ])
      expect(
        await imported(http, study.id, text, `?dry_run=${yes}&create_missing_sites=${yes}&skip_duplicates=${no}`),
      ).to.deep.equal(rehearsed);
    expect((await sendFile(http, study.id, text, '?dry_run=maybe')).status).to.equal(422);
    const real = await imported(http, study.id, text, '?create_missing_sites=true');
    expect({ ...rehearsed, dry_run: false }).to.deep.equal(real);
    expect(real).to.deep.include({ imported_count: 1, created_sites: ['NEW'] });
    expect((await http.expect(200, 'GET', `/api/studies/${study.id}/sites`)).items.map((s) => s.site_code)).to.include(
      'NEW',
    );
  });

  it('mode=upsert changes what differs and leaves alone what an empty cell does not speak of', async () => {
    const known = await newParticipant(http, study.id, {
      participant_code: 'U-1',
      external_id: 'E-1',
      preferred_language: 'de',
    });
    await newParticipant(http, study.id, { participant_code: 'U-2' });
    const result = await imported(http, study.id, `${HEADER}U-1,,BER,en\nU-2,,,\nU-3,,,\n`, '?mode=upsert');
    expect(result).to.include({ success: true, imported_count: 1, updated_count: 1, skipped_count: 1 });
    expect(result.updated_participants[0]).to.deep.include({ row: 2, fields: ['preferred_language', 'site_id'] });
    const after = await http.expect(200, 'GET', `/api/participants/${known.id}`);
    expect(after).to.include({ external_id: 'E-1', site_code: 'BER', preferred_language: 'en' });
    const { rows } = await database.query(
      `select audit_metadata from audit_log where resource_id = $1 and action = 'participant_changed'`,
      [known.id],
    );
    const moved = { site_id: after.site_id, site_id_before: null };
    expect(rows).to.deep.equal([{ audit_metadata: { fields: ['preferred_language', 'site_id'], ...moved } }]);
  });

  it('the failed rows come as a file with the reasons, which can be corrected and sent again', async () => {
    const answer = await sendFile(
      http,
      study.id,
      `${HEADER}F-1,,NOWHERE,\n=cmd(),,NOWHERE,\nF-2,,,\n`,
      '?answer=failed_rows',
    );
    expect(answer.headers.get('content-disposition')).to.match(
      /^attachment; filename="failed-rows-\d{8}T\d{6}Z-[\da-f]{8}\.csv"$/,
    );
    expect(answer.text.split('\n').slice(0, 3)).to.deep.equal([
      'participant_code,external_id,site_code,preferred_language,import_row,import_field,import_code,import_message',
      'F-1,,NOWHERE,,2,site_code,UNKNOWN_SITE,site_code is not a site of the study',
      "'=cmd(),,NOWHERE,,3,site_code,UNKNOWN_SITE,site_code is not a site of the study",
    ]);
    expect(await imported(http, study.id, answer.text.replaceAll('NOWHERE', 'BER'))).to.include({
      imported_count: 2,
      error_count: 0,
    });
  });

  describe('whatever program wrote the file', () => {
    const rows = ['participant_code', 'site_code', 'external_id'];
    const wrote: [name: string, content: Uint8Array | string, notes: Record<string, string>][] = [
      [
        'UTF-8 with a byte order mark',
        `\uFEFF${rows.join(',')}\nÅsa-é,BER,\n`,
        { encoding: 'utf-8', separator: 'comma' },
      ],
      ['semicolons', `${rows.join(';')}\r\nÅsa-é;BER;\r\n`, { encoding: 'utf-8', separator: 'semicolon' }],
      ['tabs', `${rows.join('\t')}\nÅsa-é\tBER\t\n`, { encoding: 'utf-8', separator: 'tab' }],
      [
        'UTF-16 with a mark',
        Buffer.from(`\uFEFF${rows.join('\t')}\nÅsa-é\tBER\t\n`, 'utf16le'),
        { encoding: 'utf-16le', separator: 'tab' },
      ],
      [
        'UTF-16 without',
        Buffer.from(`${rows.join(',')}\nÅsa-é,BER,\n`, 'utf16le'),
        { encoding: 'utf-16le', separator: 'comma' },
      ],
      [
        'windows-1252',
        Buffer.from(`${rows.join(',')}\nÅsa-é,BER,\n`, 'latin1'),
        { encoding: 'windows-1252', separator: 'comma' },
      ],
      ['old line ends', `${rows.join(',')}\rÅsa-é,BER,\r`, { encoding: 'utf-8', separator: 'comma' }],
      [
        'other names for the columns',
        'Participant Code,Site,Record ID\nÅsa-é,BER,\n',
        { encoding: 'utf-8', separator: 'comma' },
      ],
      [
        'names in one word',
        'ParticipantCode,SITE-CODE,ExternalID\nÅsa-é,BER,\n',
        { encoding: 'utf-8', separator: 'comma' },
      ],
      [
        'other names beside the columns’ own',
        'participant_code,site_code,site,participant_id\nÅsa-é,BER,MUC,7\n',
        { encoding: 'utf-8', separator: 'comma' },
      ],
    ];
    for (const [name, content, notes] of wrote) {
      it(name, async () => {
        const result = await imported(http, study.id, content);
        expect(result.imported_participants).to.deep.equal([
          { row: 2, participant_code: 'Åsa-é', external_id: null, site_code: 'BER' },
        ]);
        expect(result.file).to.deep.equal(notes);
      });
    }
  });

  describe('what is no list of participants', () => {
    const bad: [name: string, content: Uint8Array | string, status: number, code: string][] = [
      ['an empty file', '', 400, 'HEADER_INVALID'],
      ['a header without participant_code', 'name,site_code\nx,y\n', 400, 'HEADER_INVALID'],
      ...['participant_id', 'participant', 'code', 'subject', 'subject_id', 'subject_code'].map(
        (name): [string, string, number, string] => [
          `${name} in place of participant_code`,
          `${name},site_code\nx,BER\n`,
          400,
          'HEADER_INVALID',
        ],
      ),
      ['two names of one column, neither its own', 'participant_code,site,centre\nx,BER,BER\n', 400, 'HEADER_INVALID'],
      ['a column twice', 'participant_code,site_code,Participant-Code\nx,y,z\n', 400, 'HEADER_INVALID'],
      ['a quote that is never closed', `${HEADER}"P-1,,,\nP-2,,,\n`, 400, 'FILE_UNREADABLE'],
      ['a workbook', Buffer.from('PK\u0003\u0004 and so on', 'latin1'), 400, 'FILE_UNREADABLE'],
      ['no text in any encoding', Buffer.from([0x81, 0x8d, 0xff, 0x2c, 0x90, 0x0a]), 400, 'FILE_UNREADABLE'],
      ['two million columns', `participant_code${','.repeat(2_000_000)}\nx\n`, 400, 'FILE_UNREADABLE'],
      ['ten million columns', `participant_code${','.repeat(10_000_000)}\nx\n`, 400, 'FILE_UNREADABLE'],
      ['ten thousand columns', `participant_code${','.repeat(10_000)}\nx\n`, 400, 'HEADER_INVALID'],
      ['a file of 21 MiB', Buffer.alloc(21 * 1024 * 1024, 'a'), 413, 'TOO_LARGE'],
    ];
    for (const [name, content, status, code] of bad) {
      it(`${name}: ${status} ${code}`, async () => {
        const answer = await sendFile(http, study.id, content);
        expect([answer.status, answer.body.code]).to.deep.equal([status, code]);
        expect(await participants()).to.deep.equal([]);
      });
    }
    it('a NUL byte is a fault of its row', async () => {
      const result = await imported(http, study.id, `${HEADER}N-1\0,,,\nN-2,,,\n`);
      expect(faults(result)).to.deep.equal([[2, 'participant_code', 'PATTERN']]);
      expect(result.imported_count).to.equal(1);
    });
    it('a header that comes again, as where two files were put together, is a fault of its row', async () => {
      const result = await imported(http, study.id, `${HEADER}H-1,,,\n${HEADER}H-2,,,\n`);
      expect(faults(result)).to.deep.equal([[3, null, 'REPEATED_HEADER']]);
      expect(result.imported_participants.map(({ participant_code }) => participant_code)).to.deep.equal([
        'H-1',
        'H-2',
      ]);
    });
    it('a form without the part file is 422, a body of another type 415', async () => {
      const at = `/api/studies/${study.id}/participants/import/csv`;
      expect((await http.post(at, undefined, { raw: await formOf('x', {}, 'other') })).status).to.equal(422);
      expect((await http.post(at, undefined, { raw: { type: 'text/csv', content: HEADER } })).status).to.equal(415);
    });
  });

  it('who is assigned to a site imports to that site alone, and never learns of others', async () => {
    const sites = (await http.expect(200, 'GET', `/api/studies/${study.id}/sites`)).items;
    await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'MUC' });
    await newParticipant(http, study.id, { participant_code: 'S-0', site_code: 'MUC' });
    const coordinator = await user(http, 'coordinator', { study_ids: [study.id], site_ids: [sites[0]!.id] });
    const result = await imported(coordinator, study.id, `${HEADER}S-1,,BER,\nS-2,,MUC,\nS-3,,,\nS-0,,BER,\n`);
    expect(result).to.include({ imported_count: 1, skipped_count: 1, error_count: 2 });
    expect(faults(result)).to.deep.equal([
      [3, 'site_code', 'SITE_NOT_ASSIGNED'],
      [4, 'site_code', 'SITE_NOT_ASSIGNED'],
    ]);
    expect((await sendFile(coordinator, study.id, HEADER, '?create_missing_sites=true')).status).to.equal(403);
  });

  it('a study out of reach is 404', async () => {
    const stranger = await user(http, 'data_manager', { study_ids: [] });
    expect((await sendFile(stranger, study.id, `${HEADER}P-1,,,\n`)).status).to.equal(404);
  });

  it('two imports of the same file at once make each participant once', async () => {
    const text = `participant_code\n${Array.from({ length: 300 }, (_, i) => `T-${i}`).join('\n')}\n`;
    const results = await Promise.all([1, 2, 3].map(() => imported(http, study.id, text)));
    expect(results.reduce((sum, { imported_count }) => sum + imported_count, 0)).to.equal(300);
    expect(results.every(({ success }) => success)).to.equal(true);
    expect((await http.expect(200, 'GET', `/api/studies/${study.id}/participants?limit=1`)).total).to.equal(300);
    await neverStarted(database, study.id);
  });
});
