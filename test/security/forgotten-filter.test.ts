import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin, goodPassword, login, newParticipant, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { root as checkout } from '../support/environment.js';

/**
 * An API whose lists have forgotten which study they are asked for: row-level security alone stands before the others.
 */
describe('An API that forgot the study in the conditions of its lists', () => {
  let api: ApiProcess, root: Http, mine: Loose, other: Loose;
  const folder = mkdtempSync(join(tmpdir(), 'without-filters-'));
  const told = join(folder, 'removed.txt');
  const callers = new Map<string, Http>();

  before(async () => {
    root = await admin();
    [mine, other] = [await newStudy(root), await newStudy(root)];
    for (const study of [mine, other]) {
      const { id } = await newParticipant(root, study.id, { email: `${study.id}@example.org` });
      await root.expect(201, 'POST', `/api/studies/${study.id}/caregivers`, { name: 'Somebody' });
      await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'X' });
      await root.expect(201, 'POST', '/api/schedules/windows', {
        study_id: study.id,
        code: 'W',
        name: 'W',
        target_day: 1,
      });
      await root.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: id,
        name: 'V',
        target_date: '2026-01-01',
      });
      await root.expect(202, 'POST', '/api/portal/magic-link', { participant_id: id, channel: 'email' });
    }
    const { email } = await user(root, 'researcher', { study_ids: [mine.id] });
    api = await startApi({
      NODE_OPTIONS: `--import=${join(checkout, 'test', 'security', 'without-filters.mjs')}`,
      WITHOUT_FILTERS: told,
    });
    callers.set('a researcher of the study', (await login(api.url, email, goodPassword)).http);
    callers.set('an admin who names it', await admin(api.url));
  });
  after(async () => {
    await api?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('has forgotten it indeed', () => {
    expect([...new Set(readFileSync(told, 'utf8').trim().split('\n'))].sort()).to.deep.equal([
      'caregivers',
      'notifications',
      'participants',
      'sites',
      'visits',
      'webhook-events',
      'windows',
    ]);
  });

  const lists = [
    ['caregivers', 1],
    ['participants', 1],
    ['sites', 1],
    ['webhook-events', 0],
  ] as const;
  const byContext = [
    ['/api/participants', 1],
    ['/api/schedules/windows', 1],
    ['/api/schedules/visits', 1],
    ['/api/notifications', 3],
  ] as const;
  it('shows nothing of another study, by path, header or query', async () => {
    for (const [who, http] of callers) {
      for (const [path, count, headers] of [
        ...lists.map(([name, n]) => [`/api/studies/${mine.id}/${name}?limit=500`, n, {}] as const),
        ...byContext.map(([name, n]) => [`${name}?limit=500`, n, { 'X-Study-ID': mine.id }] as const),
        ...byContext.map(([name, n]) => [`${name}?limit=500&study_id=${mine.id}`, n, {}] as const),
      ]) {
        const { body, status, text } = await http.get(path, { headers });
        expect(status, `${who} ${path}: ${text}`).to.equal(200);
        expect([...new Set(body.items.map((item) => item.study_id))], `${who} ${path}`).to.deep.equal(
          count === 0 ? [] : [mine.id],
        );
        expect(body.total, `${who} ${path}`).to.equal(count);
        expect(text).not.to.include(other.id);
      }
    }
  });

  it('nor to a researcher who names no study, or the other one', async () => {
    const http = callers.get('a researcher of the study')!;
    for (const [name, count] of byContext) {
      const { body } = await http.get(`${name}?limit=500`);
      expect([body.total, ...new Set(body.items.map((item) => item.study_id))], name).to.deep.equal([count, mine.id]);
    }
    for (const path of [
      ...lists.map(([name]) => `/api/studies/${other.id}/${name}`),
      ...byContext.map(([name]) => `${name}?study_id=${other.id}`),
    ])
      expect((await http.get(path)).status, path).to.equal(404);
  });
});
