import { request } from 'node:http';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { expect } from 'chai';
import { encryptionKeyBytes } from '../../settings.js';
import { EncryptionCodec } from '../../workflows/util/payload-codec.js';
import { startApi } from '../support/api-process.js';
import { Http, login, user } from '../support/http.js';
import { PRODUCTION } from '../support/production.js';
import { service } from '../support/service.js';
import type { RunJson } from '../support/service.js';
import { payloadKeyOf } from '../support/temporal.js';

interface Sent {
  metadata: Record<string, string>;
  data: string;
}
const asSent = ({ metadata, data }: Payload): Sent => ({
  metadata: Object.fromEntries(
    Object.entries(metadata!).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  ),
  data: Buffer.from(data!).toString('base64'),
});
const WORD = 'a word that was sealed';

interface Asked {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}
/** With headers that `fetch` does not let one set. */
const ask = (url: string, headers: Record<string, string>, body: unknown, method = 'POST'): Promise<Asked> =>
  new Promise((resolve, reject) => {
    const sending = request(
      url,
      { method, headers: { 'content-type': 'application/json', ...headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
      },
    );
    sending.on('error', reject);
    sending.end(method === 'POST' ? JSON.stringify(body) : undefined);
  });

describe('The codec for the Temporal UI', function () {
  this.timeout(120_000);
  let run: RunJson;
  let sealed: { payloads: Sent[] };
  before(async () => {
    run = await service();
    const codec = new EncryptionCodec({ current: encryptionKeyBytes(payloadKeyOf(run))!, former: [] });
    sealed = { payloads: (await codec.encode([defaultPayloadConverter.toPayload(WORD)!])).map(asSent) };
  });
  const opened = ({ text }: Asked): string =>
    Buffer.from((JSON.parse(text) as { payloads: Sent[] }).payloads[0]!.data, 'base64').toString();

  it('opens and seals for the UI and the CLI on this machine, in development without a login', async () => {
    expect(run.temporal_codec).to.equal(`${run.api}/codec`);
    const ui = new URL(run.temporal_ui!).origin;
    const answer = await ask(`${run.temporal_codec}/decode`, { origin: ui, 'x-namespace': 'default' }, sealed);
    expect([answer.status, opened(answer)]).to.deep.equal([200, `"${WORD}"`]);
    expect(answer.headers).to.include({
      'access-control-allow-origin': ui,
      'access-control-allow-credentials': 'true',
      'cache-control': 'no-store',
    });
    const plain = { payloads: [asSent(defaultPayloadConverter.toPayload('to be sealed')!)] };
    const again = await ask(`${run.temporal_codec}/encode`, {}, plain);
    expect(again.text).not.to.contain(plain.payloads[0]!.data);
    const round = await ask(`${run.temporal_codec}/decode`, {}, JSON.parse(again.text));
    expect(opened(round)).to.equal('"to be sealed"');
    expect((await ask(`${run.temporal_codec}/decode`, {}, plain)).text).to.equal(JSON.stringify(plain));
  });

  it('answers the preflight of the UI’s page, by each name of this machine, and of no other page', async () => {
    const port = new URL(run.temporal_ui!).port;
    const preflight = (origin: string) =>
      ask(
        `${run.temporal_codec}/decode`,
        { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-namespace' },
        undefined,
        'OPTIONS',
      );
    for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
      const { status, headers } = await preflight(origin);
      expect([status, headers['access-control-allow-origin']]).to.deep.equal([204, origin]);
      expect(String(headers['access-control-allow-headers']).toLowerCase()).to.contain('x-namespace');
    }
    const other = await preflight('http://evil.example.org');
    expect(other.headers['access-control-allow-origin']).to.equal(undefined);
  });

  it('asks for a login where a page of another origin, another name or a proxy may be behind it', async () => {
    const others: Record<string, string>[] = [
      { origin: 'http://evil.example.org' },
      { host: 'rebound.example.org' },
      { 'x-forwarded-for': '203.0.113.9' },
    ];
    for (const headers of others)
      expect((await ask(`${run.temporal_codec}/decode`, headers, sealed)).status, JSON.stringify(headers)).to.equal(
        401,
      );
  });

  it('says what is wrong with a body, and names the key that is not known', async () => {
    for (const body of [{ payloads: 'x' }, { payloads: [17] }, { payloads: [{ metadata: { encoding: 5 } }] }])
      expect((await ask(`${run.temporal_codec}/decode`, {}, body)).status, JSON.stringify(body)).to.equal(400);
    expect((await ask(`${run.temporal_codec}/decode`, {}, {})).text, 'as the CLI sends nothing').to.equal(
      '{"payloads":[]}',
    );
    const foreign = new EncryptionCodec({ current: new Uint8Array(32).fill(7), former: [] });
    const [payload] = await foreign.encode([defaultPayloadConverter.toPayload(WORD)!]);
    const answer = await ask(`${run.temporal_codec}/decode`, {}, { payloads: [asSent(payload!)] });
    expect(answer.status).to.equal(400);
    expect(answer.text).to.contain('TEMPORAL_PAYLOAD_FORMER_KEYS');
  });

  it('in production is for admins alone', async () => {
    const production = await startApi({ ...PRODUCTION, MFA_REQUIRED_ROLES: 'none' });
    try {
      const url = `${production.url}/codec/decode`;
      expect((await ask(url, {}, sealed)).status).to.equal(401);
      const { http: admin } = await login(production.url, run.admin_email, run.admin_password ?? '');
      const answer = await admin.post<{ payloads: Sent[] }>('/codec/decode', sealed);
      expect(answer.status, answer.text).to.equal(200);
      expect(Buffer.from(answer.body.payloads[0]!.data, 'base64').toString()).to.equal(`"${WORD}"`);
      const researcher = await user(admin, 'researcher');
      expect((await researcher.post('/codec/decode', sealed)).status).to.equal(403);
    } finally {
      await production.stop();
    }
  });

  it('is no part of the contract', async () => {
    const { paths } = await new Http(run.api).expect<{ paths: object }>(200, 'GET', '/openapi.json');
    expect(Object.keys(paths).filter((path) => path.startsWith('/codec'))).to.deep.equal([]);
  });
});
