import { expect } from 'chai';
import { Site, endTimeOf, runSchedule } from '../assessment/stage.js';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin, newStudy, user } from '../support/http.js';

/** Each is looked at by one test alone; none of them changes what the others see. */
const SETTINGS = {
  ENABLE_API_V1: 'false',
  ASSESSMENT_SESSION_MINUTES: '3',
  CHROMIUM_PATH: '/nonexistent/chromium',
};

describe('What a setting of the API changes', function () {
  this.timeout(120_000);
  let api: ApiProcess;
  let root: Http;
  before(async () => {
    api = await startApi(SETTINGS);
    root = await admin(api.url);
  });
  after(() => api?.stop());

  describe('/api/v1', () => {
    it('is 404 with ENABLE_API_V1=false, and not in the contract', async () => {
      const study = await newStudy(root);
      const researcher = await user(root, 'researcher', { study_ids: [study.id] });
      for (const path of ['/api/v1/tokens', '/api/v1/studies', `/api/v1/studies/${study.id}/participants`])
        expect((await researcher.get(path)).status, path).to.equal(404);
      const { paths } = await new Http(api.url).expect<{ paths: object }>(200, 'GET', '/openapi.json');
      expect(Object.keys(paths).filter((path) => path.startsWith('/api/v1'))).to.deep.equal([]);
    });
  });

  describe('Assessment sessions', () => {
    describe('expiry', () => {
      it('shuts a session whose time is up, at once for callers and by the sweep in the record', async () => {
        const short = await Site.open({}, root);
        const { sessionId: id, expiresAt } = (await short.start()).body;
        const { started_at } = await short.see(id);
        expect(Date.parse(expiresAt) - Date.parse(started_at as string)).to.be.closeTo(3 * 60_000, 10_000);
        await short.submit(id, { task_summaries: { stroop: { accuracy: 1 } } });
        await endTimeOf(id);
        expect((await short.see(id)).status).to.equal('expired');
        const late = await short.submit(id, { task_summaries: { flanker: { accuracy: 1 } } });
        expect([late.status, late.body.code]).to.deep.equal([401, 'SESSION_EXPIRED']);
        expect((await short.end(id)).body.code).to.equal('SESSION_EXPIRED');
        const row = await runSchedule(
          'expire_assessment_sessions',
          async () =>
            (await short.http.expect(200, 'GET', `/api/audit?study_id=${short.study.id}&limit=100`)).items.find(
              (r) => r.action === 'session_expired',
            ),
          'the sweep',
        );
        expect(row.resource_id).to.equal(id);
        expect((await short.see(id)).task_summaries, 'what was submitted stays').to.deep.equal({
          stroop: { accuracy: 1 },
        });
        expect(
          (await short.http.expect(200, 'GET', `/api/sessions?study_id=${short.study.id}&status=expired`)).total,
        ).to.equal(1);
      });
    });
  });

  describe('The browser that prints', () => {
    it('where there is none, printing is 503 with Retry-After and everything else goes on', async () => {
      const { id } = await newStudy(root);
      const answer = await root.get(`/api/reports/studies/${id}/pdf/summary`);
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'BROWSER_UNAVAILABLE']);
      expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
      expect((await root.get(`/api/reports/studies/${id}/plots/completion.svg`)).status).to.equal(200);
    });
  });
});
