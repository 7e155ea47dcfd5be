import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openapi } from '../../api/http/openapi/document.js';
import { documentedRoutes } from '../../api/routes.js';
import { document, whole } from '../support/contract.js';
import { startApi } from '../support/api-process.js';
import { root } from '../support/environment.js';
import { Http, admin } from '../support/http.js';
import { service } from '../support/service.js';

interface Described {
  items?: Described;
  properties?: Record<string, Record<string, unknown>>;
}

describe('The contract', () => {
  it('docs/openapi.json is what the routes declare ("npm run openapi" writes it)', () => {
    const committed: unknown = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8'));
    expect(JSON.parse(JSON.stringify(openapi(documentedRoutes)))).to.deep.equal(committed);
  });

  it('every operation names its permissions and an id of its own', () => {
    const { paths } = openapi(documentedRoutes) as {
      paths: Record<string, Record<string, { operationId: string; 'x-permissions': { roles: string[] } }>>;
    };
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    expect(new Set(operations.map((o) => o.operationId)).size).to.equal(operations.length);
    for (const operation of operations) expect(operation['x-permissions'].roles).not.to.deep.equal([]);
  });

  it('every operation that takes If-Match tells of the conflict that it may answer', () => {
    const { paths } = whole(openapi(documentedRoutes)) as unknown as {
      paths: Record<
        string,
        Record<string, { operationId: string; parameters?: { name: string }[]; responses: Record<string, unknown> }>
      >;
    };
    const conditional = Object.values(paths)
      .flatMap((path) => Object.values(path))
      .filter(({ parameters = [] }) => parameters.some(({ name }) => name === 'If-Match'));
    expect(conditional.length).to.be.greaterThan(20);
    expect(
      conditional.filter(({ responses }) => !('409' in responses)).map(({ operationId }) => operationId),
    ).to.deep.equal([]);
  });

  it('is served as the routes declare it, for everybody', async () => {
    const answer = await new Http((await service()).api).get('/openapi.json');
    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property('openapi', '3.1.0');
    expect(answer.body).to.deep.equal(JSON.parse(JSON.stringify(openapi(documentedRoutes))));
  });

  for (const path of ['/docs', '/redoc']) {
    it(`${path} loads everything from the service itself, under a policy that allows nothing else`, async () => {
      const http = new Http((await service()).api);
      const page = await http.get(path);
      expect(page.status).to.equal(200);
      expect(page.headers.get('content-security-policy'))
        .to.include("default-src 'none'")
        .and.include("script-src 'self';");
      const loaded = [...page.text.matchAll(/(?:src|href|spec-url)="([^"]+)"/g)].map(([, url]) => url!);
      expect(loaded.length).to.be.greaterThan(1);
      for (const url of loaded) {
        expect(url).to.match(/^\/[^/]/);
        const file = await http.get(url);
        expect(file.status, url).to.equal(200);
        expect(file.text, url).not.to.contain('cdn.redoc');
        if (url.endsWith('.js')) expect(file.headers.get('content-type')).to.equal('text/javascript; charset=utf-8');
      }
      expect(page.text, 'no script in the page').not.to.match(/<script(?![^>]*src=)/);
    });
  }

  it('marks the fields of answers that go beyond the specification', () => {
    const answerOf = (path: string) => {
      const schema = document.paths[path]!.get!.responses['200']!.content!['application/json']!.schema as Described;
      return (schema.items ?? schema).properties!;
    };
    const marked = (path: string) =>
      Object.entries(answerOf(path))
        .filter(([, field]) => field['x-extension'] === true && String(field.description).endsWith('(extension)'))
        .map(([name]) => name);
    const of = '/api/studies/{study_id}/participants/{participant_id}';
    expect(marked(`${of}/anchor-date`)).to.deep.equal(['partial_value']);
    expect(marked(`${of}/anchor-date/history`)).to.have.members([
      'anchor_version',
      'request_id',
      'schedule_version_created_id',
      'source_ref',
    ]);
    expect(marked(`${of}/schedule-versions`)).to.have.members([
      'anchor_version',
      'generation_warnings',
      'superseded_at',
      'supersede_reason',
    ]);
    expect(marked('/api/metrics/summary')).to.deep.equal(['since']);
  });

  it('/docs/expressions names what expressions of a policy may use', async () => {
    const page = await new Http((await service()).api).get('/docs/expressions');
    expect(page.headers.get('content-type')).to.equal('text/markdown; charset=utf-8');
    expect(page.text).to.contain('daysBetween');
  });

  it('is 404 with ENABLE_API_DOCS=false, and the service serves on', async function off() {
    const api = await startApi({ ENABLE_API_DOCS: 'false' });
    try {
      for (const path of ['/openapi.json', '/docs', '/redoc', '/docs/swagger-ui.css', '/redoc/redoc.standalone.js']) {
        expect((await new Http(api.url).get(path)).status, path).to.equal(404);
      }
      expect((await (await admin(api.url)).get('/api/studies')).status).to.equal(200);
    } finally {
      await api.stop();
    }
  });
});
