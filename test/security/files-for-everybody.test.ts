import { brotliCompressSync, constants } from 'node:zlib';
import { expect } from 'chai';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin } from '../support/http.js';
import type { Http } from '../support/http.js';

const REQUESTS = 20;

/** They are not counted: what each request costs, anybody may have done as often as they like. */
describe('A large file that anybody may ask for', function suite() {
  this.timeout(120_000);
  let api: ApiProcess;
  let root: Http;
  before(async () => {
    api = await startApi();
    root = await admin(api.url);
  });
  after(() => api?.stop());

  /** Processor time that the API has taken so far, in milliseconds. */
  const usedMs = async (): Promise<number> =>
    (await root.expect<{ process: { cpu_seconds: number } }>(200, 'GET', '/api/metrics')).process.cpu_seconds * 1000;

  async function asked(path: string, encoding: string): Promise<Buffer> {
    const answer = await fetch(`${api.url}${path}`, { headers: { 'accept-encoding': encoding } });
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('content-encoding')).to.equal(encoding === 'identity' ? null : encoding);
    return Buffer.from(await answer.arrayBuffer());
  }

  /** The least that it takes here to compress it as the API does. */
  function compressionMs(content: Buffer): number {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    return Math.min(
      ...[1, 2, 3].map(() => {
        const before = process.cpuUsage();
        brotliCompressSync(content, { params });
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1000;
      }),
    );
  }

  for (const path of ['/docs/swagger-ui-bundle.js', '/redoc/redoc.standalone.js'])
    it(`is read and compressed once: ${path}`, async () => {
      const content = await asked(path, 'identity');
      expect(content.length).to.be.greaterThan(1_000_000);
      for (const encoding of ['br', 'gzip']) expect((await asked(path, encoding)).equals(content)).to.equal(true);
      // What the process does beside a request comes and goes: the least of them is compared with the least.
      let least = Infinity;
      for (let i = 0; i < REQUESTS; i += 1) {
        const before = await usedMs();
        expect((await asked(path, 'br')).length).to.equal(content.length);
        least = Math.min(least, (await usedMs()) - before);
      }
      expect(least).to.be.lessThan(compressionMs(content) / 2);
    });
});
