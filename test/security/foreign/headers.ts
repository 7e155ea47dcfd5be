import { expect } from 'chai';
import { permissionRoutes as allRoutes } from '../../../api/routes.js';
import type { Stage } from '../../anchor/stage.js';
import { Visitor } from '../../console/stage.js';
import { goodPassword, user } from '../../support/http.js';
import type { Filled } from './studies.js';

/**
 * What is the same for everybody: documents, the frames of pages without a login, and their files; and a battery for a
 * device, which has nothing of a person.
 */
const PUBLIC = [
  /^\/api\/batteries\/\d+\/compile$/,
  /^\/(console\/)?(assets|static)\//,
  /^\/(docs|openapi\.json|redoc|favicon\.ico|robots\.txt)/,
  /^\/portal(\/|$)/,
  /^\/api\/(docs|openapi)/,
];
const NOBODY = '00000000-0000-4000-8000-000000000000';

/**
 * Tests of what each answer says to caches, frames and browsers.
 * @param of the service, and a study that has something of everything
 */
export function headersOfAnswers(of: () => { stage: Stage; study: Filled }): void {
  let stage: Stage, mine: Filled;
  before(() => {
    ({ stage, study: mine } = of());
  });

  /** What is wrong with the headers of an answer. */
  function faultsOf(path: string, { headers, status }: { headers: Headers; status: number }): string[] {
    const isPublic = PUBLIC.some((one) => one.test(path));
    const cache = headers.get('cache-control') ?? '';
    const policy = headers.get('content-security-policy') ?? '';
    return [
      ...(isPublic || /\bno-store\b/.test(cache) ? [] : [`Cache-Control: ${cache}`]),
      ...(headers.get('x-content-type-options') === 'nosniff' ? [] : ['no nosniff']),
      ...(headers.get('x-frame-options') === 'DENY' && policy.includes("frame-ancestors 'none'") ? [] : ['framed']),
      ...(headers.get('referrer-policy') === 'no-referrer' ? [] : ['tells where from']),
    ].map((fault) => `${status} ${path}: ${fault}`);
  }

  it('of every route, with data, without, and when it refuses', async () => {
    const ids: Record<string, string | number> = { ...mine.ids, ...mine.people[0] };
    const staff = await Visitor.of(stage.admin.base, (await user(stage.admin, 'admin')).email, goodPassword);
    const faults: string[] = [];
    let answered = 0;
    for (const { method, path } of allRoutes) {
      if (method !== 'GET' || path.endsWith('/events')) continue;
      const at = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(ids[name] ?? NOBODY));
      for (const token of [stage.admin.token, undefined]) {
        const cookie = token && [...staff.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const answer = await fetch(`${stage.admin.base}${at}`, {
          redirect: 'manual',
          headers: { ...(token && { authorization: `Bearer ${token}` }), ...(cookie && { cookie }) },
        });
        await answer.body?.cancel();
        if (answer.status === 200) answered += 1;
        faults.push(...faultsOf(at, answer));
      }
    }
    expect([...new Set(faults)]).to.deep.equal([]);
    expect(answered).to.be.greaterThan(100);
  });

  it('of what no route answers', async () => {
    for (const path of ['/nothing', '/api/nothing', '/console/nothing', '/portal/nothing', '/api/%zz'])
      expect(faultsOf('', await fetch(`${stage.admin.base}${path}`)), path).to.deep.equal([]);
  });

  it('of a calendar feed, which has a person’s visits', async () => {
    const study = await stage.study({});
    const person = await study.person();
    const { url } = await stage.admin.expect<{ url: string }>(
      201,
      'POST',
      `/api/participants/${person.id}/calendar-feeds`,
      {},
    );
    const at = new URL(url, stage.admin.base);
    const answer = await fetch(`${stage.admin.base}${at.pathname}${at.search}`);
    expect(answer.status).to.equal(200);
    expect(faultsOf('', answer)).to.deep.equal([]);
    const tag = answer.headers.get('etag')!;
    const same = await fetch(`${stage.admin.base}${at.pathname}${at.search}`, { headers: { 'if-none-match': tag } });
    expect(same.status).to.equal(304);
  });
}
