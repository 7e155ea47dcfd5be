import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { DAY_MS, HOUR, Site, day, instant, trials } from './stage.js';
import type { ItemView } from './stage.js';

/** Times that are not plausible are flagged; nothing that came with them is lost. */
describe('Clocks of devices', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const recorded = trials('stroop', 3);
  const codes = (flags: unknown) => (flags as { code: string }[]).map(({ code }) => code);
  const response = (fields: Record<string, unknown> = {}) => ({
    id: 'r',
    sessionId: 's',
    task: 'stroop',
    summary: { accuracy: 1 },
    trials: recorded,
    ...fields,
  });
  const bulk = (item: Record<string, unknown>, headers: Record<string, string> = {}) =>
    site.http.expect<{ results: (ItemView & { quality_flags?: unknown })[] }>(
      200,
      'POST',
      '/api/sync/bulk',
      { sessions: [item], responses: [response()] },
      { headers },
    );

  for (const [title, fields, flags] of [
    [
      'is set back during a session',
      { startedAt: instant(-HOUR), completedAt: instant(-2 * HOUR) },
      ['CLOCK_SET_BACK'],
    ],
    ['is set back by decades', { startedAt: instant(-HOUR), completedAt: '1970-01-01T00:00:00Z' }, ['CLOCK_SET_BACK']],
    ['jumps ahead by years', { completedAt: '2199-01-01T00:00:00Z' }, ['CLOCK_AHEAD']],
  ] as const) {
    it(`a clock that ${title}: session and results are kept and flagged, the visit is done at the start`, async () => {
      const visit = await site.visit({}, [-3, 3]);
      const item = site.item('s', { visitId: visit.id, ...fields });
      const { results } = await bulk(item);
      expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
      expect(codes(results[0]!.quality_flags)).to.deep.equal(flags);
      const seen = await site.see(results[0]!.server_id!);
      expect(codes(seen.quality_flags)).to.deep.equal(flags);
      expect(seen).to.include({ status: 'completed', trial_count: 3 });
      expect(Date.parse(seen.completed_at as string)).to.equal(Date.parse(fields.completedAt));
      const done = await site.seeVisit(visit.id);
      expect([done.status, Date.parse(done.completed_at as string)]).to.deep.equal([
        'completed',
        Date.parse(item.startedAt as string),
      ]);
      expect((await bulk(item)).results.map(({ status }) => status)).to.deep.equal(['duplicate', 'duplicate']);
    });
  }

  it('a clock that goes on in order is not flagged', async () => {
    const { results } = await bulk(site.item('s'));
    expect(results[0]).not.to.have.property('quality_flags');
    expect((await site.see(results[0]!.server_id!)).quality_flags).to.deep.equal([]);
  });

  it('trials of years to come are kept and flagged, on both ways', async () => {
    const ahead = trials('stroop', 2, { timestamp: instant(400 * DAY_MS) });
    const id = await site.session();
    const answer = await site.submit(id, { task_summaries: {}, raw_trials: ahead });
    expect([answer.status, codes(answer.body.quality_flags)], answer.text).to.deep.equal([200, ['CLOCK_AHEAD']]);
    const { results } = await site.bulk({ sessions: [site.item('s')], responses: [response({ trials: ahead })] });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
    for (const session of [id, results[0]!.server_id!]) {
      const [task] = (await site.see(session)).tasks as Loose[];
      expect(codes(task!.quality_flags)).to.include('CLOCK_AHEAD');
      expect(await site.trials(session)).to.deep.equal(ahead);
    }
  });

  it('reaction times that no clock can have measured are kept and flagged, and count in no summary', async () => {
    const largest = 1.7976931348623157e308;
    const odd = [
      ...trials('stroop', 3),
      ...[86_400_001, 1_795_694_265_231, largest, largest].map(
        (rt, i) => trials('stroop', 1, { trial_index: 3 + i, rt })[0]!,
      ),
    ];
    const id = await site.session();
    const answer = await site.submit(id, { task_summaries: {}, raw_trials: odd });
    expect(answer.status, answer.text).to.equal(200);
    const { results } = await site.bulk({
      sessions: [site.item('s')],
      responses: [response({ summary: {}, trials: odd })],
    });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
    for (const session of [id, results[0]!.server_id!]) {
      const [task] = (await site.see(session)).tasks as Loose[];
      expect(
        (task!.quality_flags as { code: string; count: number }[]).find(({ code }) => code === 'IMPLAUSIBLE'),
      ).to.include({
        task: 'stroop',
        count: 4,
      });
      expect(task!.computed_summary).to.include({ total_trials: 7, mean_rt: 301, median_rt: 301, sd_rt: 1 });
      expect((await site.trials(session)).map(({ rt }) => rt)).to.deep.equal(odd.map(({ rt }) => rt));
    }
  });

  it('instants of centuries to come and gone are stored to the millisecond', async () => {
    const shown = [
      '9999-12-31T23:59:59.999Z',
      '2300-01-01T00:00:00.001Z',
      '1700-06-05T04:03:02.007Z',
      '1001-01-01T00:00:00.123Z',
    ];
    const recordedThen = shown.map((timestamp, trial_index) => trials('stroop', 1, { timestamp, trial_index })[0]!);
    const id = await site.session();
    const answer = await site.submit(id, { task_summaries: {}, raw_trials: recordedThen });
    expect(answer.status, answer.text).to.equal(200);
    expect((await site.trials(id)).map(({ timestamp }) => timestamp)).to.deep.equal(shown);
  });

  it('a clock of another decade is flagged as one that is ahead is', async () => {
    const then = '1970-01-02T00:00:00Z';
    const { results } = await site.bulk({
      sessions: [site.item('s'), site.item('t', { startedAt: then, completedAt: then })],
      responses: [
        response({ trials: trials('stroop', 2, { timestamp: then }) }),
        response({ id: 'u', sessionId: 't', trials: trials('stroop', 2, { timestamp: then }) }),
      ],
    });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created', 'created', 'created']);
    const [now, old] = [await site.see(results[0]!.server_id!), await site.see(results[1]!.server_id!)];
    expect([codes(now.quality_flags), codes(old.quality_flags)]).to.deep.equal([[], ['CLOCK_BEHIND']]);
    const ofTask = ({ tasks }: Loose) => codes((tasks as Loose[])[0]!.quality_flags);
    expect([ofTask(now), ofTask(old)]).to.deep.equal([['CLOCK_BEHIND'], []]);
  });

  for (const [title, startedAt, completedAt, flags] of [
    ['is decades ahead', '2199-01-01T00:00:00Z', '2199-01-01T00:20:00Z', ['CLOCK_AHEAD']],
    ['is two days ahead', instant(2 * DAY_MS), instant(2 * DAY_MS + HOUR), ['CLOCK_AHEAD']],
    ['shows the last second of the calendar', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z', ['CLOCK_AHEAD']],
    ['was never set', '1970-01-01T00:00:00Z', '1970-01-01T00:20:00Z', ['CLOCK_BEHIND']],
    ['shows the first second of the calendar', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z', ['CLOCK_BEHIND']],
  ] as const) {
    it(`a clock that ${title}: session and results are kept and flagged, the visit is done when they arrive`, async () => {
      const visit = await site.visit({}, [-3, 3]);
      const item = site.item('s', { visitId: visit.id, startedAt, completedAt });
      const since = Date.now();
      // Of a clock that was never set nothing has to be known.
      const { results } = await bulk(item, Date.parse(startedAt) > since ? { 'X-Device-Time': completedAt } : {});
      expect(
        results.map(({ status }) => status),
        JSON.stringify(results),
      ).to.deep.equal(['created', 'created']);
      const seen = await site.see(results[0]!.server_id!);
      expect(seen).to.include({ status: 'completed', trial_count: 3 });
      expect([Date.parse(seen.started_at as string), codes(seen.quality_flags)]).to.deep.equal([
        Date.parse(startedAt),
        flags,
      ]);
      const done = await site.seeVisit(visit.id);
      expect(done.status).to.equal('completed');
      expect(Date.parse(done.completed_at as string)).to.be.within(since - 60_000, Date.now() + 60_000);
      expect((await bulk(item)).results.map(({ status }) => status)).to.deep.equal(['duplicate', 'duplicate']);
    });
  }

  it('a clock that is set right during a session: the visit is done at its end', async () => {
    const [visit, completedAt] = [await site.visit({}, [-3, 3]), instant(-HOUR)];
    const { results } = await bulk(
      site.item('s', { visitId: visit.id, startedAt: '1970-01-01T00:00:00Z', completedAt }),
    );
    expect(results[0]!.status).to.equal('created');
    expect((await site.seeVisit(visit.id)).completed_at).to.equal(completedAt);
  });

  it('a start more than 24 hours ahead of the clock that the device tells is rejected, and taken once it tells', async () => {
    const item = site.item('s', { startedAt: instant(49 * HOUR), completedAt: instant(50 * HOUR) });
    const codesOf = async (headers: Record<string, string>) =>
      (await bulk(item, headers)).results.map(({ code, status }) => code ?? status);
    for (const headers of [{}, { 'X-Device-Time': instant(0) }, { 'X-Device-Time': instant(-30 * DAY_MS) }] as const)
      expect(await codesOf(headers as Record<string, string>)).to.deep.equal(['START_IN_FUTURE', 'UNKNOWN_SESSION']);
    expect(await codesOf({ 'X-Device-Time': instant(50 * HOUR) })).to.deep.equal(['created', 'created']);
    expect(await codesOf({})).to.deep.equal(['duplicate', 'duplicate']);
  });

  it('a session of a past visit is done then, although its participant was entered years afterwards', async () => {
    const visit = await site.visit({
      target_date: '2020-01-01',
      window_open: '2020-01-01',
      window_close: '2020-01-03',
    });
    const [startedAt, completedAt] = ['2020-01-02T10:00:00.000Z', '2020-01-02T10:30:00.000Z'];
    await bulk(site.item('s', { visitId: visit.id, startedAt, completedAt }));
    expect((await site.seeVisit(visit.id)).completed_at).to.equal(completedAt);
  });

  it('an unfinished session of a clock that is ahead expires', async () => {
    const ahead = { status: 'active', startedAt: '2199-01-01T00:00:00Z', completedAt: null };
    const { results } = await bulk(site.item('s', ahead), { 'X-Device-Time': '2199-01-01T00:10:00Z' });
    const { expires_at } = await site.see(results[0]!.server_id!);
    expect(Date.parse(expires_at as string)).to.be.within(Date.now(), Date.now() + 3 * DAY_MS);
  });

  it('offsets without minutes and blanks of any kind are read as others, on both ways', async () => {
    const at = instant(-HOUR).slice(0, 19);
    const forms = [`${at}+00`, `${at}-00`, `${at.replace('T', '\u00a0')}Z`, `${at}.250+00:00`];
    const id = await site.session();
    const sent = forms.map((timestamp, trial_index) => trials('stroop', 1, { timestamp, trial_index })[0]!);
    const answer = await site.submit(id, { task_summaries: {}, raw_trials: sent });
    expect(answer.status, answer.text).to.equal(200);
    const shown = ['.000', '.000', '.000', '.250'].map((ms) => `${at}${ms}Z`);
    expect((await site.trials(id)).map(({ timestamp }) => timestamp)).to.deep.equal(shown);
    const { results } = await site.bulk({
      sessions: [site.item('s', { startedAt: `${at}+00`, completedAt: `${at}-01` })],
      responses: [response({ trials: sent })],
    });
    expect(
      results.map(({ status }) => status),
      JSON.stringify(results),
    ).to.deep.equal(['created', 'created']);
    const seen = await site.see(results[0]!.server_id!);
    expect([Date.parse(seen.started_at as string), Date.parse(seen.completed_at as string)]).to.deep.equal([
      Date.parse(`${at}Z`),
      Date.parse(`${at}Z`) + HOUR,
    ]);
  });

  it('a clock that shows another decade while it sends loses nothing', async () => {
    for (const [n, shown] of ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'].entries()) {
      const { results } = await bulk(site.item(`s${n}`), { 'X-Device-Time': shown });
      expect(results[0]!.status).to.equal('created');
      const { clock_skew_ms } = await site.see(results[0]!.server_id!);
      expect(Math.abs((clock_skew_ms as unknown as number) - (Date.parse(shown) - Date.now()))).to.be.below(600_000);
    }
  });

  it('a refused session of a clock that was set back is kept beside the server’s, flagged', async () => {
    await site.bulk({ sessions: [site.item('s')] });
    const other = site.item('s', { startedAt: instant(-3 * HOUR), completedAt: instant(-4 * HOUR) });
    expect((await site.bulk({ sessions: [other], responses: [response()] })).conflicts).to.equal(2);
    const [conflict] = (await site.conflicts()).items;
    const resolved = await site.http.expect<Loose>(
      200,
      'POST',
      `/api/studies/${site.study.id}/sync-conflicts/${conflict!.id}/resolve`,
      { keep: 'both', reason: 'the notes say so' },
    );
    const beside = (resolved.server_content as unknown as { beside_session_id: string }).beside_session_id;
    const seen = await site.see(beside);
    expect(codes(seen.quality_flags)).to.deep.equal(['CLOCK_SET_BACK']);
    expect(seen.trial_count).to.equal(3);
  });

  it('several open visits and none named: a warning names them, on both ways', async () => {
    const ids = [(await site.visit({}, [-2, 2])).id, (await site.visit({ name: 'Another' }, [-2, 2])).id].sort();
    const started = await site.start();
    const warning = (warnings: unknown) =>
      (warnings as { code: string; visit_ids: string[] }[]).map((one) => [one.code, one.visit_ids]);
    expect([started.body.visitId, warning(started.body.warnings)]).to.deep.equal([
      null,
      [['SEVERAL_OPEN_VISITS', ids]],
    ]);
    const { results } = await site.bulk({
      sessions: [
        site.item('s'),
        site.item('t', { visitId: ids[0] }),
        site.item('u', { startedAt: `${day(-9)}T10:00:00Z` }),
      ],
    });
    expect(results.map((one) => warning((one as { warnings?: unknown }).warnings ?? []))).to.deep.equal([
      [['SEVERAL_OPEN_VISITS', ids]],
      [],
      [],
    ]);
    expect((await site.see(results[0]!.server_id!)).visit_id).to.equal(null);
  });

  it('null stands for results that there are none of, on both ways', async () => {
    const id = await site.session();
    const answer = await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: null });
    expect([answer.status, answer.body.status], answer.text).to.deep.equal([200, 'accepted']);
    const { results } = await site.bulk({
      sessions: [site.item('s'), site.item('t')],
      responses: [response({ summary: null }), response({ id: 'q', sessionId: 't', trials: null })],
    });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created', 'created', 'created']);
    const none = await site.bulk({ responses: [response({ id: 'n', summary: null, trials: null })] });
    expect(none.results.map(({ code }) => code)).to.deep.equal(['EMPTY']);
  });
});
