import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { sendFile } from '../data/stage.js';
import { HEADER, archive, bookOf, handmade, text as cell } from '../data/workbooks.js';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

const MEBI = 1024 * 1024;

describe('What unfolds to far more than was sent', function () {
  this.timeout(180_000);
  let root: Http, study: Loose;
  before(async () => {
    root = await admin();
    study = await newStudy(root);
  });

  describe('a body that unfolds', () => {
    /** Three times what any body may have, in a thousandth of it. */
    let bomb: Buffer;
    before(() => {
      bomb = gzipSync(Buffer.alloc(64 * MEBI, ' '));
    });
    for (const [path, type] of [
      ['/api/auth/login', 'application/json'],
      ['/api/notifications/bounces', 'message/rfc822'],
      ['/api/webhooks/datacapture/det', 'application/x-www-form-urlencoded'],
      ['/api/sync/bulk', 'application/json'],
      ['/console/login', 'application/x-www-form-urlencoded'],
    ] as const)
      it(`is refused when it is too long: ${path}`, async () => {
        const answer = await fetch(`${root.base}${path}`, {
          method: 'POST',
          headers: { 'content-type': type, 'content-encoding': 'gzip', authorization: `Bearer ${root.token!}` },
          body: Readable.toWeb(Readable.from([bomb])) as ReadableStream,
          duplex: 'half',
        } as RequestInit).then(
          ({ status }) => status,
          // The connection ends with the answer, which may come before all was sent.
          () => 413,
        );
        expect(answer).to.equal(413);
        expect((await root.get('/api/health')).status).to.equal(200);
      });

    it('twice is not unfolded', async () => {
      const twice = gzipSync(gzipSync(JSON.stringify({ email: 'a@example.org', password: 'x' })));
      const answer = await root.send('POST', '/api/auth/login', undefined, {
        raw: { type: 'application/json', content: new Uint8Array(twice) },
        headers: { 'Content-Encoding': 'gzip, gzip' },
      });
      expect(answer.status).to.equal(415);
    });
  });

  describe('a list of participants', () => {
    const refused = async (content: Uint8Array | string, kind: 'excel' | 'csv') => {
      const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
      const answer = await sendFile(root, study.id, bytes, '', kind);
      expect(answer.status, answer.text.slice(0, 300)).to.be.oneOf([400, 413]);
    };
    const laughs =
      '<!DOCTYPE lolz [<!ENTITY a "haha">' +
      Array.from({ length: 12 }, (_, i) => `<!ENTITY a${i} "${`&a${i === 0 ? '' : i - 1};`.repeat(10)}">`).join('') +
      ']>';
    it('with entities that unfold is refused', async () => {
      const sheet = `${HEADER}<row r="2">${cell('A2', '&a11;')}</row>`;
      const books = [
        await archive({
          ...bookOf({ People: 'worksheets/sheet1.xml' }),
          'xl/worksheets/sheet1.xml': `${laughs}<worksheet><sheetData>${sheet}</sheetData></worksheet>`,
        }),
        await handmade(`${HEADER}<row r="2"><c r="A2" t="s"><v>0</v></c></row>`, {
          'xl/sharedStrings.xml': `${laughs}<sst><si><t>&a11;</t></si></sst>`,
        }),
      ];
      for (const book of books) {
        const { status, text } = await sendFile(root, study.id, book, '?dry_run=true', 'excel');
        expect(status, text.slice(0, 300)).to.be.below(500);
        expect(text.length).to.be.below(10_000);
        expect(text).not.to.include('hahahaha');
      }
    });

    it('that is an archive of very many parts, of other archives, or whose sheet unfolds to a comment, is refused', async () => {
      const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}.xml`, 'x']));
      await refused(await archive(many, false), 'excel');
      await refused(await handmade(`${HEADER}<!--${' '.repeat(64 * MEBI)}-->`), 'excel');
      const inner = Buffer.from(await handmade(HEADER));
      await refused(await archive({ 'a.xlsx': inner, 'b.zip': inner }), 'excel');
    });

    it('whose directory tells another size than it has is read as it is, within its limits', async () => {
      const rows = `${HEADER}<row r="2">${cell('A2', 'x'.repeat(1_000))}</row>`;
      const entry = Buffer.from('PK\u0001\u0002', 'latin1');
      for (const size of [1, 0xfffffffe]) {
        const lying = Buffer.from(await handmade(rows));
        for (let at = lying.indexOf(entry); at >= 0; at = lying.indexOf(entry, at + 4))
          lying.writeUInt32LE(size, at + 24);
        const { status, body } = await sendFile(root, study.id, new Uint8Array(lying), '?dry_run=true', 'excel');
        expect(status).to.be.oneOf([200, 400]);
        if (status === 200) expect(body).to.include({ total_rows: 1, error_count: 1 });
        else expect(body.code).to.equal('FILE_UNREADABLE');
      }
    });

    it('of one line without end, one cell without end, or a quote that is not closed is refused', async () => {
      const head = 'participant_code,external_id\n';
      await refused(`${head}${'x'.repeat(8 * MEBI)}`, 'csv');
      await refused(`${head}A,"${'x\n'.repeat(4 * MEBI)}`, 'csv');
      await refused(`${head}${'a,'.repeat(4 * MEBI)}`, 'csv');
      await refused(`${'a,'.repeat(4 * MEBI)}\nx`, 'csv');
      expect((await root.get('/api/health')).status).to.equal(200);
    });
  });
});
