import { expect } from 'chai';
import { unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { Site, trials } from './stage.js';
import type { BulkView, ItemView } from './stage.js';

/** Deeper than programs follow. */
const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
/** What is written as it stands: JSON.stringify would not write it so. */
const raw = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll('@NUL', '\\u0000')
    .replaceAll('@HALF', '\\ud83d')
    .replaceAll('@PROTO', '__proto__')
    .replaceAll('"@ENDLESS"', '1e999')
    .replaceAll('"@DEEP"', deep);

describe('Offline sync: an item with what cannot be stored', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    site.http.post(path, undefined, { raw: { type: 'application/json', content: raw(body) }, headers });
  const response = (id: string, fields: object = {}) => ({
    id,
    sessionId: 'good',
    task: 'stroop',
    summary: { accuracy: 1 },
    trials: trials('stroop', 2),
    ...fields,
  });
  const withData = (data: object) => ({ trials: trials('stroop', 2, { data: data as Record<string, unknown> }) });

  const sessions = (): [item: Record<string, unknown>, names: RegExp, local_id: string | null][] => [
    [site.item('a@NUL'), /^id has a character/, null],
    [site.item('@HALF'), /^id has a character/, null],
    [site.item('c', { language: 'd@NULe' }), /^language has a character/, 'c'],
    [site.item('d', { participantId: '@NUL' }), /^participantId /, 'd'],
    [site.item('e', { '@PROTO': { status: 'active' } }), /^__proto__ is not a name/, 'e'],
    [site.item('f', { deviceId: '@HALF' }), /^deviceId /, 'f'],
    [site.item('g', { 'odd@NUL': 1 }), /^odd\\u0000 has a character/, 'g'],
    [site.item('h', { startedAt: '@NUL' }), /^startedAt /, 'h'],
    [site.item('i', { deviceId: '@DEEP' }), /^deviceId\S* is nested deeper than 64 levels$/, 'i'],
  ];
  const responses = (): [item: Record<string, unknown>, names: RegExp, local_id: string | null][] => [
    [response('@NUL'), /^id /, null],
    [response('b', { sessionId: 'good@NUL' }), /^sessionId /, 'b'],
    [response('c', { task: 'str@NULoop' }), /^task /, 'c'],
    [response('d', { summary: { 'acc@HALF': 1 } }), /^summary\.acc\\ud83d /, 'd'],
    [response('e', { summary: { '@PROTO': 1 } }), /^summary\.__proto__ is not a name/, 'e'],
    [response('f', withData({ deep: [{ note: 'x@NUL' }] })), /^trials\.0\.data\.deep\.0\.note /, 'f'],
    [response('g', withData({ '@PROTO': { polluted: true } })), /^trials\.0\.data\.__proto__ /, 'g'],
    [response('h', withData({ deep: [{ x: '@ENDLESS' }] })), /^trials\.0\.data\.deep\.0\.x /, 'h'],
    [response('i', { summary: { accuracy: '@ENDLESS' } }), /^summary\.accuracy /, 'i'],
    [response('j', { trials: [{ ...trials('stroop', 1)[0], rt: '@ENDLESS' }] }), /^trials\.0\.rt /, 'j'],
    [response('k', withData({ deep: '@DEEP', note: '}]"{' })), /^trials\.0\.data\.deep is nested deeper /, 'k'],
  ];

  it('is rejected in its place of a bulk, which takes the others, under an Idempotency-Key as well', async () => {
    const [bad, worse] = [sessions(), responses()];
    const sent = {
      sessions: [...bad.map(([item]) => item), '@NUL', site.item('good')],
      responses: [...worse.map(([item]) => item), ['@HALF'], response('r', withData({ note: 'äöü 😀 \\ "' }))],
    };
    const key = { 'Idempotency-Key': unique('k') };
    const answer = await send('/api/sync/bulk', sent, key);
    expect(answer.status, answer.text).to.equal(200);
    const { results, ...counts } = answer.body as unknown as BulkView;
    expect(counts).to.deep.equal({ created: 2, duplicates: 0, conflicts: 0, rejected: bad.length + worse.length + 2 });
    const expected = [
      ...bad,
      [null, /./, null],
      [null, /^$/, 'good'],
      ...worse,
      [null, /./, null],
      [null, /^$/, 'r'],
    ] as typeof bad;
    for (const [i, [, names, local_id]] of expected.entries()) {
      expect(results[i]!.local_id, `${i}`).to.equal(local_id);
      expect(results[i]!.message ?? '', `${i}`).to.match(names);
      expect(results[i]!.code, `${i}`).to.equal(results[i]!.status === 'rejected' ? 'INVALID_ITEM' : undefined);
    }
    expect((await send('/api/sync/bulk', sent, key)).text, 'the stored answer').to.equal(answer.text);
    const { items, total } = await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`);
    expect(total).to.equal(1);
    expect(items[0]).to.deep.include({ local_id: 'good', task_summaries: { stroop: { accuracy: 1 } }, trial_count: 2 });
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
  });

  it('is rejected by itself', async () => {
    await send('/api/sync/sessions', site.item('good'));
    for (const [path, items] of [
      ['/api/sync/sessions', sessions()],
      ['/api/sync/responses', responses()],
    ] as const) {
      for (const [item, names, local_id] of items) {
        const answer = await send(path, item);
        expect(answer.status, answer.text).to.equal(200);
        const told = answer.body as unknown as ItemView;
        expect(told).to.include({ status: 'rejected', code: 'INVALID_ITEM', local_id, server_id: null });
        expect(told.message).to.match(names);
      }
    }
  });

  it('is named by check-conflicts, which tells of the others', async () => {
    const item = site.item('good');
    const { body: made } = await send('/api/sync/sessions', item);
    const [bad, worse] = [sessions(), responses()];
    const answer = await send('/api/sync/check-conflicts', {
      sessions: [
        ...bad.map(([one]) => one),
        { ...item, language: '@NUL' },
        { ...item, status: 'abandoned', completedAt: null },
      ],
      responses: worse.map(([one]) => one),
    });
    expect(answer.status, answer.text).to.equal(200);
    const report = answer.body as Loose & { session_conflicts: Loose[]; rejected: ItemView[] };
    expect(report.rejected.map(({ local_id }) => local_id)).to.deep.equal([
      ...bad.map(([, , id]) => id),
      'good',
      ...worse.map(([, , id]) => id),
    ]);
    expect(report.session_conflicts.map(({ server_id }) => server_id)).to.deep.equal([made.server_id, made.server_id]);
  });

  it('a long id is cut between characters', async () => {
    const answer = await send('/api/sync/sessions', site.item(`${'x'.repeat(199)}😀y`), {
      'Idempotency-Key': unique('k'),
    });
    expect(answer.body).to.include({ status: 'rejected', local_id: 'x'.repeat(199) });
  });

  for (const [title, path, content, status] of [
    ['a list', '/api/sync/bulk', '["\\u0000"]', 422],
    ['text', '/api/sync/sessions', '"\\u0000"', 422],
    ['a list for an item', '/api/sync/responses', '["\\u0000"]', 422],
    ['items that are no list', '/api/sync/bulk', '{"sessions": "\\u0000"}', 422],
    ['a prototype beside its lists', '/api/sync/bulk', '{"sessions": [], "__proto__": {"responses": []}}', 422],
    ['a field that it has not', '/api/sync/check-conflicts', '{"sessions": [], "\\u0000": 1}', 422],
    ['half of a list', '/api/sync/bulk', '{"sessions": [', 400],
    ['a field that is nested too deep beside its lists', '/api/sync/bulk', `{"sessions": [], "more": ${deep}}`, 400],
    ['what is nested too deep and has no end', '/api/sync/bulk', `{"sessions": [{"id": ${deep}`, 400],
    ['items that are nested too deep and are not separated', '/api/sync/bulk', `{"sessions": [${deep} ${deep}]}`, 400],
  ] as const) {
    it(`a body that is as a whole none, ${title}, is ${status} at ${path}`, async () => {
      expect((await site.http.post(path, undefined, { raw: { type: 'application/json', content } })).status).to.equal(
        status,
      );
    });
  }
});
