import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { expect } from 'chai';
import { readXlsx } from '../../api/imports/files/xlsx.js';
import { residentMb } from '../bench/memory.js';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { formOf, imported, sendFile } from './stage.js';
import { HEADER, handmade, participantsBook, text } from './workbooks.js';

const MEBI = 1024 * 1024;
/** Far more than reading takes, far less than what these would unfold to. */
const MOST_MB = 400;

describe('What a workbook may have its reader do', function () {
  this.timeout(180_000);
  let http: Http;
  let study: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
  });

  const long = 'x'.repeat(250_000);
  const shared = (times: number) =>
    Array.from({ length: times }, (_, i) => `<row r="${i + 2}"><c r="B${i + 2}" t="s"><v>0</v></c></row>`).join('');
  const bad: [what: string, content: () => Promise<Uint8Array>, reason: RegExp][] = [
    ['elements in each other without end', () => handmade(`${HEADER}${'<a>'.repeat(10 * MEBI)}`), /damaged/],
    [
      'an element with a million attributes',
      () => handmade(`${HEADER}<row ${Array.from({ length: MEBI }, (_, i) => `a${i}=""`).join(' ')}/>`),
      /damaged/,
    ],
    ['an attribute that does not end', () => handmade(`${HEADER}<row r="${'1'.repeat(40 * MEBI)}"/>`), /damaged/],
    ['a comment that does not end', () => handmade(`${HEADER}<!--${'-x'.repeat(20 * MEBI)}`), /damaged/],
    [
      'a text that does not end',
      () => handmade(`${HEADER}<row r="2">${text('B2', 'x'.repeat(40 * MEBI))}</row>`),
      /damaged|characters/,
    ],
    [
      'a text of forty thousand runs',
      () =>
        handmade(
          `${HEADER}<row r="2"><c r="B2" ` +
            `t="inlineStr"><is>${`<r><t>${'x'.repeat(100)}</t></r>`.repeat(40_000)}</is></c></row>`,
        ),
      /text of more than 262144 characters/,
    ],
    [
      'a row of texts that are all the same',
      () =>
        handmade(`${HEADER}<row r="2">${'<c t="s"><v>0</v></c>'.repeat(2_000)}</row>`, {
          'xl/sharedStrings.xml': `<sst><si><t>${long}</t></si></sst>`,
        }),
      /Row 2 of the sheet is longer than 262144 characters/,
    ],
    [
      'a hundred thousand rows that are all the same',
      () => handmade(HEADER + shared(100_000), { 'xl/sharedStrings.xml': `<sst><si><t>${long}</t></si></sst>` }),
      /more than 48 MiB of text/,
    ],
    [
      'a merged text that stands in a hundred thousand places',
      () =>
        handmade(
          `${HEADER}<row r="2">${text('B2', long)}</row></sheetData><mergeCells><mergeCell ` +
            'ref="B2:B99999"/></mergeCells><sheetData>',
        ),
      /more than 48 MiB of text/,
    ],
    [
      'more texts than cells there may be',
      () => handmade(HEADER, { 'xl/sharedStrings.xml': `<sst>${'<si/>'.repeat(1_100_000)}</sst>` }),
      /more than 1000000 cells/,
    ],
    [
      'more styles than there are',
      () =>
        handmade(HEADER, { 'xl/styles.xml': `<styleSheet><cellXfs>${'<xf/>'.repeat(100_000)}</cellXfs></styleSheet>` }),
      /damaged/,
    ],
    [
      'three thousand merged cells',
      () =>
        handmade(
          `${HEADER}</sheetData><mergeCells>${Array.from({ length: 3_000 }, (_, i) => `<mergeCell ref="B${i + 2}:C${i + 2}"/>`).join('')}</mergeCells><sheetData>`,
        ),
      /more merged cells/,
    ],
    [
      'a million merged cells, upside down',
      () => handmade(`${HEADER}</sheetData><mergeCells><mergeCell ref="B1000000:C2"/></mergeCells><sheetData>`),
      /more merged cells/,
    ],
  ];
  for (const [what, content, reason] of bad) {
    it(`${what}: refused, in little memory, while the API answers`, async () => {
      const { api } = (await service()).pids;
      const bytes = await content();
      const idle = residentMb(api!);
      let most = idle;
      const look = setInterval(() => {
        most = Math.max(most, residentMb(api!));
      }, 20);
      const answer = await sendFile(http, study.id, bytes, '', 'excel').finally(() => clearInterval(look));
      expect([answer.status, answer.body.code], answer.text.slice(0, 300)).to.deep.equal([400, 'FILE_UNREADABLE']);
      expect(answer.body.detail).to.match(reason);
      expect(most - idle, 'MB').to.be.below(MOST_MB);
      expect(residentMb(api!), 'the process is there still').to.be.above(0);
    });
  }

  it('more workbooks at once than are read at once are all imported', async () => {
    const rows = asMuchAs(1_500, 5_000);
    const book = await participantsBook(rows);
    const results = await Promise.all(
      Array.from({ length: 6 }, () => imported(http, study.id, book, '?dry_run=true', 'excel')),
    );
    for (const result of results) expect(result).to.include({ success: true, imported_count: rows });
  });

  it('when the caller goes away, reading ends, and nothing is imported', async () => {
    const id = randomUUID();
    const filler = 'y'.repeat(30);
    const rows = Array.from(
      { length: 90_000 },
      (_, i) =>
        `<row r="${i + 2}">${text(`A${i + 2}`, `G-${i}`)}${'BCDEF'
          .split('')
          .map((column) => text(`${column}${i + 2}`, filler))
          .join('')}</row>`,
    ).join('');
    const { type, content } = await formOf(await handmade(HEADER + rows));
    const sent = request(`${http.base}/api/studies/${study.id}/participants/import/excel?import_id=${id}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${http.token!}`, 'Content-Type': type, 'Content-Length': content.length },
    });
    const broken = new Promise<string>((resolve) => {
      sent.on('error', (fault) => resolve(String(fault)));
    });
    sent.end(content);
    const seen = () => http.get(`/api/studies/${study.id}/participant-imports/${id}`);
    await until(async () => (await seen()).body.status === 'running', { what: 'the import to begin' });
    sent.destroy(new Error('gone'));
    expect(await broken).to.match(/gone/);
    const look = await until(
      async () => {
        const { body } = await seen();
        return body.status === 'running' ? undefined : body;
      },
      { timeout: 60_000, what: 'the import to end' },
    );
    expect(look).to.include({ status: 'failed', imported_count: null });
    expect((await http.expect(200, 'GET', `/api/studies/${study.id}/participants?search=G-1`)).total).to.equal(0);
  });

  describe('its thread', () => {
    const here = (name: string) => [name, import.meta.url] as const;
    const gone = new AbortController().signal;
    const ended = (reading: Parameters<typeof readXlsx>[1], content: Promise<Uint8Array> = participantsBook(10)) =>
      content
        .then((bytes) => readXlsx(Buffer.from(bytes), reading))
        .then(
          () => 'read',
          (fault: unknown) => fault as { status?: number; code?: string; message: string },
        );

    it('that ends before its time is a failure to try again, and the next one reads', async () => {
      for (const how of ['./threads/exits', './threads/throws'])
        expect(await ended({ gone, program: here(how) }), how).to.include({ status: 503, code: 'UNAVAILABLE' });
      expect(await ended({ gone })).to.equal('read');
    });

    it('that does not come to an end is ended after its time', async () => {
      expect(await ended({ gone, program: here('./threads/hangs'), limitMs: 200 })).to.deep.include({
        status: 400,
        code: 'FILE_UNREADABLE',
        message: 'The workbook could not be read within 0.2 seconds.',
      });
    });

    it('is ended when the caller goes away, and not begun for one who has gone', async () => {
      const leaving = new AbortController();
      const reading = ended({ gone: leaving.signal, program: here('./threads/hangs') });
      setImmediate(() => leaving.abort());
      expect(await reading).to.include({ status: 400, code: 'BAD_REQUEST' });
      expect(await ended({ gone: AbortSignal.abort(), program: here('./threads/exits') })).to.include({
        status: 400,
        code: 'BAD_REQUEST',
      });
    });

    it('has few beside it: twelve are read or wait, one more is told to come again', async () => {
      const book = Buffer.from(await participantsBook(10));
      const leaving = new AbortController();
      const all = Array.from({ length: 12 }, () =>
        readXlsx(book, { gone: leaving.signal, program: here('./threads/hangs') }).catch((fault: unknown) => fault),
      );
      expect(await ended({ gone })).to.include({ status: 503, code: 'UNAVAILABLE' });
      leaving.abort();
      for (const fault of await Promise.all(all)) expect(fault).to.include({ code: 'BAD_REQUEST' });
      expect(await ended({ gone })).to.equal('read');
    });
  });
});
