import { expect } from 'chai';
import type { Answer, Loose } from '../support/http.js';
import { Http } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { HOUR, Site, instant, trials } from './stage.js';
import type { BulkView } from './stage.js';

const good = { task_summaries: { flanker: { accuracy: 1 } }, raw_trials: trials('flanker', 3) };

/** It fits the form of a time. */
const LEAP_SECOND = '2016-12-31T23:59:60Z';

describe('Bad input', () => {
  let site: Site, foreign: Site;
  before(async () => {
    [site, foreign] = [await Site.open(), await Site.open()];
  });
  const raw = (id: string, content: string) =>
    new Http(site.http.base).post('/api/submit', undefined, {
      headers: { 'X-Session-ID': id },
      raw: { type: 'application/json', content },
    });
  const stroop = (fields: object) => ({
    ...good,
    raw_trials: [...good.raw_trials, { ...trials('stroop', 1)[0], ...fields }],
  });

  const submissions: [title: string, send: (id: string) => Promise<Answer<Loose>>, status: number, field?: string][] = [
    [
      'the session id of another participant in the header',
      async (id) => site.submit(id, good, await site.session({ participant_id: (await site.newParticipant()).id })),
      400,
    ],
    ['a session id that is nobody’s', (id) => site.submit(id, good, '00000000-0000-4000-8000-000000000000'), 401],
    [
      'an unknown task',
      (id) => site.submit(id, { ...good, task_summaries: { ...good.task_summaries, telepathy: { accuracy: 1 } } }),
      422,
      'task_summaries.telepathy',
    ],
    ['summaries that are a list', (id) => site.submit(id, { ...good, task_summaries: [] }), 422, 'task_summaries'],
    [
      'a summary that is a number',
      (id) => site.submit(id, { ...good, task_summaries: { flanker: 1 } }),
      422,
      'task_summaries.flanker',
    ],
    ['trials that are no list', (id) => site.submit(id, { ...good, raw_trials: {} }), 422, 'raw_trials'],
    [
      'a trial that is text',
      (id) => site.submit(id, { ...good, raw_trials: [...good.raw_trials, 'left'] }),
      422,
      'raw_trials.3',
    ],
    ['a reaction time that is text', (id) => site.submit(id, stroop({ rt: '300' })), 422, 'raw_trials.3.rt'],
    ['a negative reaction time', (id) => site.submit(id, stroop({ rt: -0.5 })), 422, 'raw_trials.3.rt'],
    [
      'an answer that is neither right nor wrong',
      (id) => site.submit(id, stroop({ correct: 'yes' })),
      422,
      'raw_trials.3.correct',
    ],
    [
      'a trial index that is negative',
      (id) => site.submit(id, stroop({ trial_index: -1 })),
      422,
      'raw_trials.3.trial_index',
    ],
    ['a field that no trial has', (id) => site.submit(id, stroop({ colour: 'red' })), 422, 'raw_trials.3.colour'],
    [
      'NaN, which is no JSON',
      (id) => raw(id, `{"session_id": "${id}", "task_summaries": {"flanker": {"accuracy": NaN}}}`),
      400,
    ],
    [
      'a number beyond all numbers',
      (id) => raw(id, `{"session_id": "${id}", "task_summaries": {"flanker": {"accuracy": 1e999}}}`),
      422,
      'task_summaries.flanker.accuracy',
    ],
    [
      'a trial at no time of our calendar',
      (id) => site.submit(id, stroop({ timestamp: LEAP_SECOND })),
      422,
      'raw_trials.3.timestamp',
    ],
    [
      'a trial at no time behind those of another task',
      (id) =>
        site.submit(id, {
          task_summaries: {},
          raw_trials: [...trials('flanker', 2), ...trials('stroop', 1, { timestamp: LEAP_SECOND })],
        }),
      422,
      'raw_trials.2.timestamp',
    ],
    [
      'a trial of an unknown task that has no summary',
      (id) => site.submit(id, { task_summaries: {}, raw_trials: [...trials('flanker', 2), ...trials('telepathy', 1)] }),
      422,
      'raw_trials.2.task',
    ],
  ];
  for (const [title, send, status, field] of submissions) {
    it(`a submission with ${title} is ${status}${field === undefined ? '' : ` by ${field}`}; nothing of it is taken, and the session goes on`, async () => {
      const id = await site.session();
      const answer = await send(id);
      expect(answer.status, answer.text).to.equal(status);
      expect(answer.body.detail).to.be.a('string').and.not.equal('');
      if (field !== undefined) expect(answer.body.errors.map((fault) => fault.path)).to.include(field);
      expect(await site.see(id)).to.deep.include({ task_summaries: {}, trial_count: 0, status: 'active' });
      expect((await site.submit(id, good)).body.status).to.equal('accepted');
    });
  }

  it('a bulk with every fault there is answers each by its item, and takes the others', async () => {
    const answer = (id: string, fields: object = {}) => ({
      id,
      sessionId: 'good',
      task: 'stroop',
      summary: { accuracy: 1 },
      trials: [],
      ...fields,
    });
    const battery = await foreign.battery();
    const faults: [kind: 'session' | 'response', item: unknown, code: string, named: RegExp][] = [
      ['session', null, 'INVALID_ITEM', /./],
      ['session', 7, 'INVALID_ITEM', /./],
      ['session', [], 'INVALID_ITEM', /./],
      ['session', { id: 'half' }, 'INVALID_ITEM', /studyId|status|startedAt|participantId/],
      ['session', site.item('status', { status: 'done' }), 'INVALID_ITEM', /status/],
      ['session', site.item('start', { startedAt: 'yesterday' }), 'INVALID_ITEM', /startedAt/],
      [
        'session',
        site.item('ahead', { status: 'active', startedAt: instant(25 * HOUR), completedAt: null }),
        'START_IN_FUTURE',
        /startedAt/,
      ],
      ['session', site.item('battery', { batteryId: battery.id }), 'UNKNOWN_BATTERY', /battery/],
      ['session', site.item('person', { participantId: foreign.participant.id }), 'UNKNOWN_PARTICIPANT', /participant/],
      ['session', site.item('study', { studyId: foreign.study.id }), 'UNKNOWN_PARTICIPANT', /participant/],
      ['response', answer('task', { task: 'telepathy' }), 'UNKNOWN_TASK', /telepathy/],
      ['response', answer('nobody', { sessionId: 'nobody' }), 'UNKNOWN_SESSION', /session/],
      ['response', answer('metric', { summary: { accuracy: 'high' } }), 'INVALID_ITEM', /summary\.accuracy/],
      ['response', answer('empty', { summary: {}, trials: [] }), 'EMPTY', /summary/],
      ['response', answer('rt', { trials: trials('stroop', 1, { rt: -1 }) }), 'INVALID_ITEM', /trials\.0\.rt/],
      ['response', answer('leap', { trials: trials('stroop', 1, { timestamp: LEAP_SECOND }) }), 'FORMAT', /trial 0/],
      [
        'response',
        answer('many', {
          trials: Array.from({ length: 50_001 }, (_, i) => ({
            trial_index: i,
            rt: 1,
            correct: true,
            timestamp: '2026-01-05T10:00:00Z',
          })),
        }),
        'TOO_MANY_TRIALS',
        /50000|50,000/,
      ],
    ];
    const of = (kind: string) => faults.filter((fault) => fault[0] === kind).map(([, item]) => item);
    const sent = {
      sessions: [...of('session'), site.item('good'), site.item('good')],
      responses: [...of('response'), answer('r'), answer('r')],
    };
    const { results, ...counts } = await site.bulk(sent);
    const rejected = results.filter(({ status }) => status === 'rejected');
    expect(rejected.map(({ kind, code }) => [kind, code])).to.deep.equal(
      [...faults].map(([kind, , code]) => [kind, code]),
    );
    for (const [i, { message }] of rejected.entries()) expect(message, `${i}`).to.match(faults[i]![3]);
    expect(counts, 'what is there twice in one bulk is taken once').to.deep.equal({
      created: 2,
      duplicates: 2,
      conflicts: 0,
      rejected: faults.length,
    });
    expect(
      (
        await site.http.expect(200, 'GET', `/api/sessions?participant_id=${site.participant.id}&status=completed`)
      ).items.map((one) => one.task_summaries),
    ).to.deep.equal([{ stroop: { accuracy: 1 } }]);
  });

  it('a response that names another participant’s session is rejected by its item for the participant itself', async () => {
    const [own, other] = [await site.newParticipant(), await site.newParticipant()];
    const theirs = await site.session({ participant_id: other.id });
    const device = await enterPortal(site.http, own.id);
    const response = (id: string, sessionId: string) => ({
      id,
      sessionId,
      task: 'stroop',
      summary: { accuracy: 1 },
      trials: [],
    });
    const { results } = await device.expect<BulkView>(200, 'POST', '/api/sync/bulk', {
      sessions: [site.item('own', { participantId: own.id })],
      responses: [response('a', theirs), response('b', 'own')],
    });
    expect(results.map(({ status, code }) => [status, code])).to.deep.equal([
      ['created', undefined],
      ['rejected', 'UNKNOWN_SESSION'],
      ['created', undefined],
    ]);
    expect((await site.see(theirs)).task_summaries).to.deep.equal({});
  });

  it('a reason of nothing but blanks is 422, and nothing is done: of a visit, a conflict, a withdrawal', async () => {
    const one = await Site.open();
    const visit = await one.visit({}, [-2, 0]);
    const item = one.item('blank');
    for (const sent of [item, { ...item, completedAt: instant() }]) await one.bulk({ sessions: [sent] });
    const {
      items: [conflict],
    } = await one.conflicts();
    const calls: [string, object][] = [
      [`/api/visits/${visit.id}/cancel`, {}],
      [`/api/visits/${visit.id}/reopen`, {}],
      [`/api/studies/${one.study.id}/sync-conflicts/${conflict!.id}/resolve`, { keep: 'server' }],
      [`/api/participants/${one.participant.id}/withdraw`, {}],
    ];
    for (const [path, fields] of calls) {
      const { status, body } = await one.http.post(path, { ...fields, reason: ' \n\t ' });
      expect([path, status, body.errors]).to.deep.equal([
        path,
        422,
        [{ path: 'reason', code: 'BLANK', message: 'reason must not be blank' }],
      ]);
    }
    expect((await one.seeVisit(visit.id)).status).to.equal('completed');
    expect((await one.conflicts('?status=open')).total).to.equal(1);
  });
});
