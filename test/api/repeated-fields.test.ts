import { expect } from 'chai';
import { parseJson, parseLargeJson } from '../../api/http/body/json.js';
import { Problem } from '../../api/http/errors.js';
import { Site, instant } from '../assessment/stage.js';
import type { BulkView } from '../assessment/stage.js';
import { Http, unique } from '../support/http.js';

const pathsOf = (fault: unknown): unknown => {
  if (!(fault instanceof Problem)) throw fault;
  return fault.options.errors?.map(({ path, code }) => [path, code]) ?? fault.code;
};
const read = (text: string): unknown => {
  try {
    return parseJson(Buffer.from(text));
  } catch (fault) {
    return pathsOf(fault);
  }
};

describe('A field that stands twice in an object of a body', () => {
  const twice: [text: string, path: string][] = [
    ['{"a":1,"a":1}', 'a'],
    ['{"a" : 1 , "b":{} , "a" : 2}', 'a'],
    ['[{},{"x":[],"y":{"z":1,"\\u007a":2}}]', '1.y.z'],
    ['{"a":{"b":"}{,","b":"\\""}}', 'a.b'],
    ['{"":1,"":2}', 'body'],
  ];
  for (const [text, path] of twice)
    it(`${text} is told by ${path}`, () => expect(read(text)).to.deep.equal([[path, 'DUPLICATE_FIELD']]));

  const once: [text: string, value: unknown][] = [
    ['{}', {}],
    ['{ }', {}],
    ['[{},{ },[ ],"{",{"a":{}}]', [{}, {}, [], '{', { a: {} }]],
    ['{"a":{"a":{"a":[{"a":1},{"a":2}]}},"b":"a"}', { a: { a: { a: [{ a: 1 }, { a: 2 }] } }, b: 'a' }],
    ['{"a":"{","b":{ } }', { a: '{', b: {} }],
    ['{"1":1,"01":2,"A":3,"a":4}', { '1': 1, '01': 2, A: 3, a: 4 }],
  ];
  for (const [text, value] of once) it(`${text} has none`, () => expect(read(text)).to.deep.equal(value));

  it('is found in a long body as well', async () => {
    const trials = Array.from({ length: 20_000 }, (_, i) => `{"trial_index":${i},"rt":300.5,"data":{}}`);
    const body = (last: string) => Buffer.from(`{"raw_trials":[${[...trials, last].join(',')}]}`);
    const ok = (await parseLargeJson(body('{"rt":1,"data":{"rt":2}}'))) as { raw_trials: unknown[] };
    expect(ok.raw_trials).to.have.length(20_001);
    expect(await parseLargeJson(body('{"rt":1,"rt":2}')).catch(pathsOf)).to.deep.equal([
      ['raw_trials.20000.rt', 'DUPLICATE_FIELD'],
    ]);
  });

  describe('from a device', () => {
    let site: Site;
    before(async () => {
      site = await Site.open();
    });

    it('refuses a submission with a task twice, of which one would be lost, and keeps nothing of it', async () => {
      const { sessionId } = await site.http.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', {
        participant_id: site.participant.id,
        language: 'en',
      });
      const answer = await new Http(site.http.base).post('/api/submit', undefined, {
        headers: { 'X-Session-ID': sessionId },
        raw: {
          type: 'application/json',
          content: `{"session_id":"${sessionId}","task_summaries":{"stroop":{"mean_rt":1},"stroop":{"mean_rt":2}},"raw_trials":[]}`,
        },
      });
      expect(answer.status, answer.text).to.equal(422);
      expect(answer.body.errors[0]).to.include({ path: 'task_summaries.stroop', code: 'DUPLICATE_FIELD' });
      const session = await site.http.expect(200, 'GET', `/api/sessions/${sessionId}`);
      expect(session.task_summaries).to.deep.equal({});
    });

    it('refuses one item of a bulk, and takes the others', async () => {
      const [bad, good] = [unique('bad'), unique('good')];
      const item = (id: string, more = '') =>
        `{"id":"${id}"${more},"participantId":"${site.participant.id}","studyId":"${site.study.id}","status":"completed",` +
        `"startedAt":"${instant(-7_200_000)}","completedAt":"${instant(-3_600_000)}"}`;
      const { results } = await site.http.expect<BulkView>(200, 'POST', '/api/sync/bulk', undefined, {
        raw: {
          type: 'application/json',
          content: `{"sessions":[${item(bad, ',"language":"en","language":"de"')},${item(good)}],"responses":[]}`,
        },
      });
      expect(results.map(({ status, code, message }) => [status, code, message])).to.deep.equal([
        ['rejected', 'INVALID_ITEM', 'language stands twice in its object'],
        ['created', undefined, undefined],
      ]);
    });
  });
});
