import { expect } from 'chai';
import { generateSync } from 'otplib';
import { Stage } from '../anchor/stage.js';
import { makeWorld } from '../contract/world.js';
import type { World } from '../contract/world.js';
import { document as contract } from '../support/contract.js';
import { Http, newStudy, unique, user } from '../support/http.js';
import { until } from '../support/until.js';

interface Operation {
  parameters?: { name: string }[];
  responses: Record<string, { headers?: Record<string, unknown> }>;
  'x-permissions'?: { scope?: string; token_scope?: string };
}
const bears = ({ responses }: Operation, status: number): boolean => 'ETag' in (responses[status]?.headers ?? {});
const takes = ({ parameters = [] }: Operation, name: string): boolean =>
  parameters.some((parameter) => parameter.name === name);
const told = (path: string, method: string): Operation => contract.paths[path]![method] as Operation;

describe('ETags in the contract', function tags() {
  this.timeout(120_000);
  let stage: Stage;
  let world: World;
  before(async () => {
    stage = await Stage.open();
    world = await makeWorld(stage);
  });
  after(() => stage.close());

  /**
   * Requests a record with the tag that the caller knows. If background work has changed the record since, the request
   * is repeated with the new tag.
   */
  const askedAgain = async (http: Http, path: string, headers: Record<string, string>, tag: string) => {
    let known = tag;
    return until(
      async () => {
        const answer = await http.get(path, { headers: { ...headers, 'If-None-Match': known } });
        const now = answer.headers.get('etag') ?? known;
        if (answer.status !== 200 || now === known) return { status: answer.status, headers: answer.headers, known };
        known = now;
        return undefined;
      },
      { what: `${path} to stand still` },
    );
  };

  it('are named for each record that has one, and for nothing else; who knows the tag is answered 304', async () => {
    const by = {
      admin: stage.admin,
      portal: new Http(stage.run.api, world.portal_token),
      scoped: new Http(stage.run.api, world.scoped_token),
    };
    const unlike: string[] = [],
      tagged: string[] = [];
    let asked = 0;
    for (const template of Object.keys(contract.paths).filter((path) => contract.paths[path]!.get)) {
      const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
      if (!names.every((name) => name in world.ids) || template.endsWith('/stream')) continue;
      const operation = told(template, 'get'),
        { scope, token_scope } = operation['x-permissions'] ?? {};
      const http = scope === 'self' ? by.portal : token_scope ? by.scoped : by.admin;
      const path = names.reduce((so, name) => so.replace(`{${name}}`, String(world.ids[name])), template);
      const headers: Record<string, string> = scope === 'self' ? {} : { 'X-Study-ID': String(world.ids.study_id) };
      const { status, headers: answered } = await http.get(path, { headers });
      if (status !== 200) continue;
      asked += 1;
      const tag = answered.get('etag');
      if ((tag !== null) !== bears(operation, 200) || (tag !== null) !== takes(operation, 'If-None-Match'))
        unlike.push(`GET ${template}: ${tag === null ? 'none' : 'one'} was sent`);
      if (tag === null) continue;
      tagged.push(template);
      const again = await askedAgain(http, path, headers, tag);
      if (again.status !== 304 || again.headers.get('etag') !== again.known || !bears(operation, 304))
        unlike.push(`GET ${template}: ${again.status} to its own tag`);
    }
    expect(unlike).to.deep.equal([]);
    expect(asked, 'asked').to.be.above(80);
    expect(tagged.length, tagged.join(' ')).to.be.above(20);
  });

  it('are named for what a change answers, and it is refused under another tag', async () => {
    const at = '/api/studies/{study_id}',
      { study_id } = world.ids;
    const changes: [string, string, string, object][] = [
      ['patch', at, `/api/studies/${study_id}`, { study_name: 'Another name' }],
      [
        'patch',
        '/api/participants/{participant_id}',
        `/api/participants/${world.ids.participant_id}`,
        { preferred_language: 'de' },
      ],
      ['patch', '/api/batteries/{battery_id}', `/api/batteries/${world.ids.battery_id}`, { name: 'Another name' }],
      [
        'patch',
        '/api/schedules/windows/{window_id}',
        `/api/schedules/windows/${world.ids.window_id}`,
        { name: 'Another name' },
      ],
      ['patch', '/api/datacapture/config/{study_id}', `/api/datacapture/config/${study_id}`, { project_id: 'another' }],
    ];
    for (const [method, template, path, body] of changes) {
      const operation = told(template, method);
      const stale = await stage.admin.send(method.toUpperCase(), path, body, { headers: { 'If-Match': '"another"' } });
      expect(
        [stale.status, stale.body.code, stale.headers.has('etag'), bears(operation, 409), takes(operation, 'If-Match')],
        path,
      ).to.deep.equal([409, 'STALE', true, true, true]);
      let tag = stale.headers.get('etag')!;
      const fresh = await until(
        async () => {
          const answer = await stage.admin.send(method.toUpperCase(), path, body, { headers: { 'If-Match': tag } });
          const now = answer.headers.get('etag');
          if (answer.status !== 409 || now === null || now === tag) return answer;
          tag = now;
          return undefined;
        },
        { what: `${path} to stand still` },
      );
      expect([fresh.status, fresh.headers.has('etag'), bears(operation, 200)], path).to.deep.equal([200, true, true]);
    }
  });

  it('are named for what acts on a record as it was read', async () => {
    const at = '/api/studies/{study_id}/participants/{participant_id}/anchor-date',
      { study_id, participant_id, visit_id } = world.ids;
    const person = `/api/studies/${study_id}/participants/${participant_id}/anchor-date`;
    const acts: [string, string, object][] = [
      [at, person, { enrollment_date: '2024-03-10' }],
      [`${at}/cancel`, `${person}/cancel`, {}],
      [`${at}/override`, `${person}/override`, { new_enrollment_date: '2024-03-17', reason: 'x' }],
      [`${at}/override-back`, `${person}/override-back`, { reason: 'x' }],
      ['/api/visits/{visit_id}/review', `/api/visits/${visit_id}/review`, { resolution: 'seen' }],
    ];
    for (const [template, path, body] of acts) {
      const operation = told(template, 'post');
      const stale = await stage.admin.post(path, body, { headers: { 'If-Match': '"another"' } });
      expect(
        [stale.status, stale.body.code, stale.headers.has('etag'), bears(operation, 409), takes(operation, 'If-Match')],
        `${path} ${stale.text}`,
      ).to.deep.equal([409, 'STALE', true, true, true]);
    }
  });

  it('are named for a record that is made', async () => {
    const made = await stage.admin.post('/api/studies', { study_code: `T-${Date.now()}`, study_name: 'Made' });
    expect([made.status, made.headers.has('etag'), bears(told('/api/studies', 'post'), 201)]).to.deep.equal([
      201,
      true,
      true,
    ]);
  });

  it('are other ones when the site that a participant and its visits are at has another code', async () => {
    const { participant_id, visit_id, site_id } = world.ids;
    const paths = [`/api/participants/${participant_id}`, `/api/visits/${visit_id}`];
    const known = new Map<string, string>();
    for (const path of paths) {
      const tag = (await stage.admin.get(path)).headers.get('etag')!;
      known.set(path, (await askedAgain(stage.admin, path, {}, tag)).known);
    }
    const site_code = unique('moved');
    await stage.admin.expect(200, 'PATCH', `/api/sites/${site_id}`, { site_code });
    for (const path of paths) {
      const answer = await stage.admin.get(path, { headers: { 'If-None-Match': known.get(path)! } });
      expect(answer.status, path).to.equal(200);
      expect(answer.body.site_code, path).to.equal(site_code);
    }
  });

  it('are other ones when a user has a second factor, or one study less', async () => {
    const study = await newStudy(stage.admin);
    const one = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
    const read = (tag = '') => one.get('/api/auth/me', { headers: { 'If-None-Match': tag } });
    const tag = (await read()).headers.get('etag')!;
    expect((await read(tag)).status).to.equal(304);
    const { secret } = await one.expect<{ secret: string }>(200, 'POST', '/api/auth/mfa/setup');
    const code = generateSync({ secret, epoch: Math.floor(Date.now() / 1000) });
    await one.expect(200, 'POST', '/api/auth/mfa/verify', { code });
    const secured = await read(tag);
    expect([secured.status, secured.body?.mfa_enabled], secured.text).to.deep.equal([200, true]);
    await stage.admin.expect(204, 'DELETE', `/api/studies/${study.id}`);
    const left = await read(secured.headers.get('etag')!);
    expect([left.status, left.body?.study_ids], left.text).to.deep.equal([200, []]);
  });

  it('of a module are its battery’s: by the one that was answered the next change is made, and no other', async () => {
    const { id } = await stage.admin.expect(201, 'POST', '/api/batteries', {
      study_id: (await newStudy(stage.admin)).id,
      code: unique('B'),
      name: 'A battery',
    });
    const made = await stage.admin.post(`/api/batteries/${id}/modules`, { task: 'stroop', name: 'First' });
    const path = `/api/batteries/${id}/modules/${made.body.id}`;
    const change = (name: string, tag: string | null) =>
      stage.admin.patch(path, { name }, { headers: { 'If-Match': tag ?? 'none' } });
    const changed = await change('Second', made.headers.get('etag'));
    expect([changed.status, changed.body.name], changed.text).to.deep.equal([200, 'Second']);
    const stale = await change('Third', made.headers.get('etag'));
    expect([stale.status, stale.body.code], stale.text).to.deep.equal([409, 'STALE']);
    const tag = (await stage.admin.get(`/api/batteries/${id}`)).headers.get('etag');
    expect(changed.headers.get('etag')).to.equal(tag);
    expect((await change('Third', tag)).status).to.equal(200);
  });
});
