import { expect } from 'chai';
import type { Visitor } from '../console/stage.js';
import { newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { MOST_MS, WatchedApi } from './costly/watched-api.js';

const TRIALS = asMuchAs(8_000, 20_000);
const PAGE_BYTES = 100 * 1024;
const everyTrial = new RegExp(`${TRIALS.toLocaleString('en')} trials differ`);

interface Side extends Loose {
  trials: Record<string, unknown>[];
  responses: { trials: unknown[] }[];
  tasks: { task: string; trials: Record<string, unknown>[] }[];
  summary: Record<string, number>;
}

describe('A sync conflict of many megabytes keeps nobody from being answered', function () {
  this.timeout(300_000);
  let watched: WatchedApi | undefined, admin: Http, visitor: Visitor, study: Loose;
  before(async function () {
    watched = await WatchedApi.start({ STATEMENT_TIMEOUT_SECONDS: '60' });
    if (!watched) return this.skip();
    ({ admin } = watched);
    visitor = await watched.visitor();
    study = await newStudy(admin);
  });
  after(() => watched?.stop());

  const longest = (work: () => Promise<unknown>, again?: () => unknown) => watched!.longest(work, again);

  const [startedAt, completedAt] = [2, 1].map((days) => new Date(Date.now() - days * 86_400_000).toISOString());
  const trial = (rt: number, i: number) => ({
    trial_index: i,
    rt: rt + (i % 10),
    correct: i % 3 > 0,
    timestamp: new Date(Date.parse(startedAt!) + i * 100).toISOString(),
    data: { response: `${'x'.repeat(200)}${i}`, at: [i, { rt }] },
    ...(i < 5 && { practice: true }),
  });
  const trials = (rt: number) => Array.from({ length: TRIALS }, (_, i) => trial(rt, i));
  const bodyOf = (
    person: string,
    local: Record<'session' | 'response', string>,
    rt: number,
    change: object = {},
    of: (rt: number) => object[] = trials,
  ) =>
    JSON.stringify({
      sessions: [
        {
          id: local.session,
          participantId: person,
          studyId: study.id,
          status: 'completed',
          startedAt,
          completedAt,
          ...change,
        },
      ],
      responses: [
        { id: local.response, sessionId: local.session, task: 'stroop', summary: { mean_rt: rt }, trials: of(rt) },
      ],
    });
  const sync = async (content: string) => {
    const { status, text } = await admin.send('POST', '/api/sync/bulk', undefined, {
      raw: { type: 'application/json', content },
    });
    expect(status, text.slice(0, 500)).to.equal(200);
  };

  /** A conflict of this kind, as its list tells it; `change`: what the device says of its session the second time. */
  async function conflicting(
    kind: string,
    change: object = {},
    of = trials as (rt: number) => object[],
  ): Promise<Loose> {
    const { id } = await newParticipant(admin, study.id);
    const local = { session: unique('s'), response: unique('r') };
    await sync(bodyOf(id, local, 300, {}, of));
    await sync(bodyOf(id, local, 400, change, of));
    const list = `/api/studies/${study.id}/sync-conflicts?status=open&participant_id=${id}`;
    const { items } = await admin.expect<Loose>(200, 'GET', list);
    return items.find((item) => item.kind === kind)!;
  }
  /** One that is looked at: its making is megabytes, twice. */
  let looked: Promise<Loose> | undefined;
  const lookedAt = () => (looked ??= conflicting('response'));
  const pathOf = (conflict: Loose) => `/api/studies/${study.id}/sync-conflicts/${conflict.id}`;
  const whole = (conflict: Loose) =>
    admin.expect<Loose & Record<'local_content' | 'server_content', Side>>(200, 'GET', pathOf(conflict));
  const results = async (session: unknown) => {
    const { tasks } = await admin.expect<{ tasks: { task: string; summary: unknown; trial_count: number }[] }>(
      200,
      'GET',
      `/api/sessions/${session as string}`,
    );
    return tasks;
  };
  /** What is left of an answer is not parsed here: the test has one processor with the service. */
  const bytesOf = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${admin.base}${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${admin.token!}`, 'Content-Type': 'application/json' },
    });
    const bytes = (await answer.arrayBuffer()).byteLength;
    expect(answer.status).to.equal(200);
    return bytes;
  };
  /** The answers to the resolution of as many conflicts as it takes to see one without what the process does beside it. */
  async function resolving(keep: string, make: () => Promise<Loose>): Promise<{ ms: number; conflict: Loose }> {
    let last: Loose | undefined;
    let next = await make();
    const ms = await longest(
      async () => {
        last = next;
        const body = JSON.stringify({ keep, reason: 'the notes say so' });
        await bytesOf(`${pathOf(last)}/resolve`, { method: 'POST', body });
      },
      async () => {
        next = await make();
      },
    );
    return { ms, conflict: last! };
  }

  it('when a device sends it', async () => {
    const { id } = await newParticipant(admin, study.id);
    const local = { session: unique('s'), response: unique('r') };
    await sync(bodyOf(id, local, 300));
    let rt = 400;
    let body = bodyOf(id, local, rt);
    const another = () => {
      body = bodyOf(id, local, (rt += 1));
    };
    const ms = await longest(() => sync(body), another);
    expect(ms).to.be.below(MOST_MS);
  });

  it('when it is read, and when its list is', async () => {
    const conflict = await lookedAt();
    const { local_content: local } = await whole(conflict);
    expect(local.trials).to.deep.equal(trials(400));
    expect(await longest(() => bytesOf(pathOf(conflict)))).to.be.below(MOST_MS);
    const list = `/api/studies/${study.id}/sync-conflicts?limit=500`;
    expect(await longest(() => bytesOf(list))).to.be.below(MOST_MS);
    expect(await bytesOf(list)).to.be.below(PAGE_BYTES);
  });

  it('when the device’s values take the place of the server’s, which the conflict keeps', async () => {
    const { ms, conflict } = await resolving('local', () => conflicting('response'));
    expect(ms).to.be.below(MOST_MS);
    const { server_content: kept, status } = await whole(conflict);
    expect(status).to.equal('resolved');
    expect(kept).to.include({ task: 'stroop', trial_count: TRIALS });
    expect(kept.summary).to.deep.equal({ mean_rt: 300 });
    expect(kept.trials).to.deep.equal(trials(300).map((one) => ({ task: 'stroop', ...one })));
    expect((await results(conflict.session_id))[0]).to.deep.include({ summary: { mean_rt: 400 }, trial_count: TRIALS });
    // What was replaced is megabytes, too.
    expect(await longest(() => bytesOf(pathOf(conflict)))).to.be.below(MOST_MS);
  });

  const SHAPES: Record<string, (rt: number) => object> = {
    'hundreds of thousands of numbers': (rt) => ({
      a: Array.from({ length: asMuchAs(300_000, 1_000_000) }, (_, i) => i + rt / 1000),
    }),
    'hundreds of thousands of objects': (rt) => ({
      response: Array.from({ length: asMuchAs(200_000, 600_000) }, (_, i) => ({ a: i + rt })),
    }),
    'one text': (rt) => ({ a: `${rt}${'ä\n'.repeat(asMuchAs(2_000_000, 4_000_000))}` }),
  };
  for (const [what, data] of Object.entries(SHAPES))
    it(`when a trial of it has ${what}`, async () => {
      const shaped = (rt: number) => [{ ...trial(rt, 0), data: data(rt) }];
      const { ms, conflict } = await resolving('local', () => conflicting('response', {}, shaped));
      expect(ms).to.be.below(MOST_MS);
      const { server_content: kept } = await whole(conflict);
      const same = JSON.stringify(kept.trials[0]!.data) === JSON.stringify(data(300));
      expect(same).to.equal(true);
      const page = `/console/inbox/conflicts/${conflict.id}`;
      expect(await longest(() => visitor.get(page))).to.be.below(MOST_MS);
      expect((await visitor.get(page)).text.length).to.be.below(PAGE_BYTES);
    });

  it('when both are kept', async () => {
    const { ms, conflict } = await resolving('both', () => conflicting('response'));
    expect(ms).to.be.below(MOST_MS);
    const { server_content } = await whole(conflict);
    const [beside] = await results((server_content as unknown as Loose).beside_session_id);
    expect(beside).to.deep.include({ summary: { mean_rt: 400 }, trial_count: TRIALS });
    expect((await results(conflict.session_id))[0]).to.deep.include({ summary: { mean_rt: 300 } });
  });

  it('when a whole session with its results takes the place of the server’s', async () => {
    const { ms, conflict } = await resolving('local', () => conflicting('session', { language: 'de' }));
    expect(ms).to.be.below(MOST_MS);
    const { server_content: kept } = await whole(conflict);
    expect(kept.tasks.map(({ task, trials: own }) => [task, own.length])).to.deep.equal([['stroop', TRIALS]]);
    expect(kept.tasks[0]!.trials).to.deep.equal(trials(300).map((one) => ({ task: 'stroop', ...one })));
    expect(kept).to.include({ participantId: conflict.participant_id });
    expect((await results(conflict.session_id))[0]).to.deep.include({ summary: { mean_rt: 400 } });
  });

  it('when its answer is kept under a key, and given again', async () => {
    const conflict = await conflicting('response');
    const resolve = () =>
      fetch(`${admin.base}${pathOf(conflict)}/resolve`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${admin.token!}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': conflict.id,
        },
        body: JSON.stringify({ keep: 'server', reason: 'the notes say so' }),
      });
    const first = await resolve();
    expect(first.status).to.equal(200);
    const text = await first.text();
    let again = first;
    const ms = await longest(async () => {
      again = await resolve();
      await again.clone().arrayBuffer();
    });
    expect([again.status, again.headers.get('idempotent-replay')]).to.deep.equal([200, 'true']);
    expect((await again.text()) === text).to.equal(true);
    expect(ms).to.be.below(MOST_MS);
  });

  it('on its page of the console, which is short and says what differs; it is resolved there as well', async () => {
    const conflict = await lookedAt();
    const page = `/console/inbox/conflicts/${conflict.id}`;
    let shown = '';
    const ms = await longest(async () => {
      const { status, text } = await visitor.get(page);
      expect(status, text.slice(0, 500)).to.equal(200);
      shown = text;
    });
    expect(ms).to.be.below(MOST_MS);
    expect(shown.length).to.be.below(PAGE_BYTES);
    // Both sides with their figures, and how many trials are not the same.
    const cells = shown.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(cells).to.match(/mean_rt Differs 400 300/);
    expect(cells).to.match(everyTrial);
    const done = await visitor.post(page, page, { keep: 'local', reason: 'the notes say so' });
    expect([done.status, done.headers.get('location')]).to.deep.equal([303, '/console/inbox?done=conflict']);
    expect((await results(conflict.session_id))[0]).to.deep.include({ summary: { mean_rt: 400 } });
    const after = await visitor.get(page);
    expect(after.text.length).to.be.below(PAGE_BYTES);
    expect(after.text.replaceAll(/<[^>]+>/g, ' ')).to.match(everyTrial);
  });
});
