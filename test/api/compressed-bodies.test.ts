import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Site, trials } from '../assessment/stage.js';

describe('A compressed body', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });
  const send = async (
    path: string,
    body: Uint8Array<ArrayBuffer>,
    encoding: string,
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(`${site.http.base}${path}`, {
      method: 'POST',
      body,
      headers: {
        'Content-Type': 'application/json',
        'Content-Encoding': encoding,
        Authorization: `Bearer ${site.http.token}`,
        ...headers,
      },
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const packed = (value: unknown, pack: (text: string) => Uint8Array): Uint8Array<ArrayBuffer> =>
    new Uint8Array(pack(JSON.stringify(value)));

  const form = (file: string) =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${file}\r\n--b--\r\n`;
  const upload = (body: Uint8Array, encoding: string) =>
    send(`/api/studies/${site.study.id}/participants/import/csv?dry_run=true`, new Uint8Array(body), encoding, {
      'Content-Type': 'multipart/form-data; boundary=b',
    });

  for (const [encoding, pack] of [
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const) {
    it(`by ${encoding} is taken: results arrive whole`, async () => {
      const id = await site.session();
      const raw = trials('stroop', 2000);
      const body = packed({ session_id: id, task_summaries: {}, raw_trials: raw }, (text) => pack(text));
      const answer = await send('/api/submit', body, encoding, { 'X-Session-ID': id });
      expect([answer.status, answer.body.trials]).to.deep.equal([200, 2000]);
      expect(await site.trials(id)).to.deep.equal(raw);
    });
  }

  for (const [encoding, pack] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const) {
    it(`by ${encoding} is taken: an uploaded file arrives whole`, async () => {
      const answer = await upload(pack(form('participant_code\nP-1\nP-2\n')), encoding);
      expect([answer.status, answer.body.imported_count]).to.deep.equal([200, 2]);
    });
  }

  it('of an upload is refused where it inflates to more than is taken, is damaged, or of another kind', async () => {
    const whole = gzipSync(form(`participant_code\n${'x'.repeat(30 * 1024 * 1024)}`));
    expect(whole.length).to.be.below(100_000);
    expect((await upload(whole, 'gzip')).status).to.equal(413);
    for (const damaged of [gzipSync(form('participant_code\nP-1\n')).subarray(0, 40), Buffer.from('no gzip at all')]) {
      const { status, body } = await upload(damaged, 'gzip');
      expect([status, body.code]).to.deep.equal([400, 'BAD_REQUEST']);
    }
    expect((await upload(deflateRawSync('x'), 'br')).status).to.equal(415);
  });

  it('is refused where it inflates to more than is taken, or to nothing', async () => {
    const large = packed({ pad: 'x'.repeat(30 * 1024 * 1024) }, (text) => gzipSync(text));
    expect(large.length).to.be.below(100_000);
    expect((await send('/api/sync/bulk', large, 'gzip')).status).to.equal(413);
    const { status, body } = await send('/api/sync/bulk', new TextEncoder().encode('{"sessions": []}'), 'gzip');
    expect([status, body.code]).to.deep.equal([400, 'BAD_REQUEST']);
    const raw = await send(
      '/api/sync/bulk',
      packed({ sessions: [] }, (text) => deflateRawSync(text)),
      'deflate',
    );
    expect(raw.status).to.equal(400);
    for (const detail of [body.detail, raw.body.detail]) expect(detail).to.match(/Content-Encoding.*gzip.*zlib/);
    expect(
      (
        await send(
          '/api/sync/bulk',
          packed({}, (text) => deflateRawSync(text)),
          'br',
        )
      ).status,
    ).to.equal(415);
  });
});
