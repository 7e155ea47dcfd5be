import { Readable } from 'node:stream';
import { expect } from 'chai';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose, Options } from '../support/http.js';
import type { ImportAnswer } from './stage.js';
import { participantsBook } from './workbooks.js';

/** A form of parts as they are written: their headers, and what they hold. */
function formOf(...parts: { headers: string[]; content: string | Uint8Array }[]): Options['raw'] & {} {
  const content = parts.flatMap((part) => [
    Buffer.from(`--b\r\n${part.headers.join('\r\n')}\r\n\r\n`),
    Buffer.from(part.content as string),
    Buffer.from('\r\n'),
  ]);
  return { type: 'multipart/form-data; boundary=b', content: Buffer.concat([...content, Buffer.from('--b--\r\n')]) };
}
const named = (name: string, more = '') => `Content-Disposition: form-data; name="${name}"${more}`;

describe('The parts of an upload', () => {
  let http: Http;
  let study: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
  });
  const sent = (raw: Options['raw'] & {}, format = 'csv') =>
    http.post<ImportAnswer>(`/api/studies/${study.id}/participants/import/${format}?dry_run=true`, undefined, { raw });
  const csv = 'participant_code\nP-1\nP-2\n';

  for (const [what, more] of [
    ['a name', '; filename="a.csv"'],
    ['a name without quotes', '; filename=a.csv'],
    ['an empty name', '; filename=""'],
    ['a name that is not ASCII', "; filename*=utf-8''%C3%A4.csv"],
  ] as const) {
    it(`a file with ${what} needs no content type`, async () => {
      const { status, body } = await sent(formOf({ headers: [named('file', more)], content: csv }));
      expect([status, body.total_rows, body.imported_count]).to.deep.equal([200, 2, 2]);
    });
  }

  it('nor does a workbook, byte by byte, or one larger than a field may be', async () => {
    const answer = await sent(
      formOf({ headers: [named('file', '; filename="a.xlsx"')], content: await participantsBook(1) }),
      'excel',
    );
    expect([answer.status, answer.body.imported_count], answer.text).to.deep.equal([200, 1]);
    const large = `participant_code,note\nP-1,${'x'.repeat(200_000)}\n`;
    expect((await sent(formOf({ headers: [named('file', '; filename="a.csv"')], content: large }))).status).to.equal(
      200,
    );
  });

  it('nor does the export of a study, and the fields beside it may have one', async () => {
    await newParticipant(http, study.id);
    const document = (await http.get(`/api/exports/studies/${study.id}/full`)).text;
    const raw = formOf(
      { headers: [named('study_code'), 'Content-Type: text/plain; charset=utf-8'], content: unique('S') },
      { headers: [named('study_name'), 'Content-Type: text/plain'], content: 'A copy' },
      { headers: [named('file', '; filename="study.json"')], content: document },
    );
    const answer = await http.post('/api/studies/import/full', undefined, { raw });
    expect(answer.status, answer.text.slice(0, 300)).to.equal(201);
  });

  it('is in the character set that its part names; one that is not known, or not that of the file, is refused', async () => {
    const file = (charset: string, bytes: readonly number[]) =>
      formOf({
        headers: [named('file', '; filename="a.csv"'), `Content-Type: text/csv; charset=${charset}`],
        content: Buffer.concat([Buffer.from('participant_code\n'), Buffer.from(bytes)]),
      });
    for (const [charset, bytes, encoding, code] of [
      ['windows-1251', [0xc6, 0x31], 'windows-1251', 'Ж1'],
      ['"ISO-8859-15"', [0xa4], 'iso-8859-15', '€'],
      ['utf-8', [0xfc, 0x31], 'windows-1252', 'ü1'],
      ['iso-8859-1', [0xc3, 0xbc], 'utf-8', 'ü'],
    ] as const) {
      const { status, body, text } = await sent(file(charset, bytes));
      expect([status, body.file?.encoding, body.imported_participants?.[0]?.participant_code], text).to.deep.equal([
        200,
        encoding,
        code,
      ]);
    }
    for (const [charset, bytes, sentence] of [
      ['cp850', [0x81], 'The character set cp850 is not known'],
      ['shift_jis', [0x81], 'The file is not in shift_jis'],
    ] as const) {
      const { status, body } = await sent(file(charset, bytes));
      expect([status, body.code, body.detail.startsWith(sentence)]).to.deep.equal([400, 'FILE_UNREADABLE', true]);
    }
  });

  it('may be in base64, under a quoted boundary, between other texts, and in pieces of any length', async () => {
    const { content } = formOf({
      headers: [named('file', '; filename="a.csv"'), 'Content-Transfer-Encoding: base64'],
      content: Buffer.from(csv).toString('base64'),
    });
    const framed = Buffer.concat(
      ['A text before.\r\n', content as Uint8Array, 'And one after.'].map((x) => Buffer.from(x)),
    );
    const { status, body } = await sent({ type: 'multipart/form-data; boundary="b"', content: framed });
    expect([status, body.total_rows]).to.deep.equal([200, 2]);
    const url = `${http.base}/api/studies/${study.id}/participants/import/csv?dry_run=true`;
    for (const length of [1, 3, 7]) {
      const pieces = Readable.from(
        (function* () {
          for (let at = 0; at < framed.length; at += length) yield framed.subarray(at, at + length);
        })(),
        { objectMode: false },
      );
      const answer = await fetch(url, {
        method: 'POST',
        headers: { Authorization: `Bearer ${http.token}`, 'Content-Type': 'multipart/form-data; boundary=b' },
        body: Readable.toWeb(pieces) as BodyInit,
        duplex: 'half',
      } as RequestInit);
      expect([answer.status, ((await answer.json()) as ImportAnswer).total_rows]).to.deep.equal([200, 2]);
    }
  });

  it('that broke off, has no name or no boundary, or is in an encoding that is out of use: 400; too many: 413', async () => {
    const file = { headers: [named('file', '; filename="a.csv"')], content: csv };
    const whole = Buffer.from(formOf(file).content);
    const multipart = (content: string | Uint8Array, type = 'multipart/form-data; boundary=b') => ({ type, content });
    for (const raw of [
      multipart(''),
      multipart(whole.subarray(0, -6)),
      multipart(whole.subarray(0, 30)),
      multipart(whole, 'multipart/form-data'),
      multipart(whole, 'multipart/form-data; boundary=c'),
      formOf({ ...file, headers: ['Content-Type: text/csv'] }),
      formOf({ ...file, headers: [...file.headers, 'Content-Transfer-Encoding: quoted-printable'] }),
    ]) {
      const { status, body } = await sent(raw);
      expect([status, body.code, body.detail]).to.deep.equal([
        400,
        'BAD_REQUEST',
        'The form cannot be read, or it broke off.',
      ]);
    }
    const field = (content: string, i: number) => ({ headers: [named(`field_${i}`)], content });
    for (const raw of [
      formOf(file, ...Array.from({ length: 21 }, (_, i) => field('1', i))),
      formOf(file, field('x'.repeat(70_000), 1)),
    ])
      expect((await sent(raw)).body.code).to.equal('TOO_LARGE');
  });

  it('a second file, an option that belongs into the query and an unknown field are told, not passed over', async () => {
    const code = unique('PARTS');
    const file = { headers: [named('file', '; filename="a.csv"')], content: `participant_code\n${code}\n` };
    for (const [part, path, rule, message] of [
      [{ ...file, headers: [named('file', '; filename="b.csv"')] }, 'file', 'MAX_ITEMS', 'one file is taken in a form'],
      [{ ...file, headers: [named('more', '; filename="b.csv"')] }, 'file', 'MAX_ITEMS', 'one file is taken in a form'],
      [
        { headers: [named('dry_run')], content: 'true' },
        'dry_run',
        'UNKNOWN_FIELD',
        'dry_run is not a field here: it belongs into the query',
      ],
      [
        { headers: [named('skip_duplicate')], content: 'false' },
        'skip_duplicate',
        'UNKNOWN_FIELD',
        'skip_duplicate is not a field here; did you mean skip_duplicates?',
      ],
    ] as const) {
      const { status, body } = await http.post<ImportAnswer>(
        `/api/studies/${study.id}/participants/import/csv`,
        undefined,
        { raw: formOf(file, { ...part, headers: [...part.headers] }) },
      );
      expect([status, body.errors]).to.deep.equal([422, [{ path, code: rule, message }]]);
    }
    const { total } = await http.expect(200, 'GET', `/api/studies/${study.id}/participants?search=${code}`);
    expect(total).to.equal(0);
  });

  it('a field of the same name, or none, is no file', async () => {
    for (const raw of [
      formOf({ headers: [named('file')], content: csv }),
      formOf({ headers: [named('other')], content: csv }),
    ]) {
      const { status, body } = await sent(raw);
      expect([status, body.errors[0]?.code]).to.deep.equal([422, 'REQUIRED']);
    }
  });
});
