import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { document as contract } from '../support/contract.js';
import { Http, admin, goodPassword, leastFile, login, newStudy, unique, user } from '../support/http.js';

/** Every operation that staff may call with their own token, as the committed contract declares it. */
const operations = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { 'x-permissions': permissions, requestBody }]) =>
    !permissions ||
    permissions.roles.includes('anyone') ||
    permissions.token_scope ||
    !permissions.roles.includes('admin')
      ? []
      : [
          {
            method: method.toUpperCase(),
            path,
            takesFile: requestBody?.content['multipart/form-data'] !== undefined,
            hasBody: requestBody !== undefined,
          },
        ],
  ),
);

describe('A login that was ended', () => {
  it('is good for nothing any more, though its access token has not expired: not one operation of the contract', async function whole() {
    this.timeout(120_000);
    const root = await admin();
    const nobody = new Http(root.base);
    const { id: study_id } = await newStudy(root);
    const battery = await root.expect<{ id: number }>(201, 'POST', '/api/batteries', {
      study_id,
      code: unique('B'),
      name: 'Battery',
      status: 'published',
      modules: [{ task: 'stroop', settings: {} }],
    });
    const { http, tokens } = await login(root.base, (await user(root, 'admin')).email, goodPassword);
    const kept = [
      '/api/auth/me',
      `/api/batteries/${battery.id}/compile`,
      `/api/studies/${study_id}/participants`,
      '/api/metrics',
    ];
    for (const path of [...kept, ...kept]) expect((await http.get(path)).status, path).to.equal(200);
    expect((await nobody.post('/api/auth/logout', { refresh_token: tokens.refresh_token })).status).to.equal(204);
    for (const path of kept) expect((await http.get(path)).status, path).to.equal(401);
    const wrong: string[] = [];
    for (const { method, path, takesFile, hasBody } of operations) {
      const at = path.replaceAll('{battery_id}', String(battery.id)).replaceAll(/\{\w+\}/g, randomUUID());
      const answer = await (takesFile
        ? http.send(method, at, undefined, { raw: leastFile })
        : http.send(method, at, hasBody ? {} : undefined));
      if (answer.status !== 401) wrong.push(`${method} ${path}: ${answer.status}`);
    }
    expect(operations.length).to.be.greaterThan(180);
    expect(wrong).to.deep.equal([]);
  });
});
