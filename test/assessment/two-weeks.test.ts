import { expect } from 'chai';
import fc from 'fast-check';
import { asMuchAs } from '../support/in-full.js';
import { Site } from './stage.js';
import type { BulkView, ItemView, TrialGiven } from './stage.js';

interface Recorded {
  session: Record<string, unknown> & { id: string };
  responses: {
    id: string;
    sessionId: string;
    task: string;
    summary: Record<string, number>;
    trials: Omit<TrialGiven, 'task'>[];
  }[];
}

const start = Date.now() - 14 * 86_400_000;
const tasks = ['stroop', 'flanker', 'n_back'];

/** What a device records in two weeks: sessions of a day each, some with a few tasks, some without. */
const recording = fc.array(
  fc.record({
    minute: fc.integer({ min: 0, max: 600 }),
    length: fc.integer({ min: 1, max: 90 }),
    finished: fc.boolean(),
    zone: fc.constantFrom(null, 'UTC', 'Pacific/Auckland'),
    language: fc.constantFrom(null, 'en', 'mi'),
    tasks: fc.subarray(tasks),
    accuracy: fc.double({ min: 0, max: 1, noNaN: true }),
    trials: fc.array(
      fc.record(
        {
          rt: fc.option(fc.integer({ min: 0, max: 5_000 })),
          correct: fc.option(fc.boolean()),
          data: fc.record({ response: fc.string() }),
        },
        { requiredKeys: ['rt', 'correct'] },
      ),
      { maxLength: 6 },
    ),
  }),
  { minLength: 1, maxLength: 14 },
);

/**
 * How it reaches the server: pieces of any items in any order, some sent twice, in turn or at once, some whose answer
 * is lost, some that were put together while their sessions were not finished yet.
 */
const transport = fc.array(
  fc.record({
    size: fc.integer({ min: 1, max: 12 }),
    order: fc.integer(),
    lost: fc.boolean(),
    again: fc.constantFrom('no', 'after', 'at once'),
    early: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

describe('A device that was offline for two weeks', function () {
  this.timeout(120_000);

  it('syncs in pieces with lost answers, doubles and reorderings, and ends with exactly what it recorded', async () => {
    const site = await Site.open({ timezone: 'Pacific/Auckland' });
    await fc.assert(
      fc.asyncProperty(recording, transport, async (days, pieces) => {
        const participant = await site.newParticipant();
        const device = days.map((given, i): Recorded => {
          const at = start + i * 86_400_000 + given.minute * 60_000;
          const id = `${participant.id}/${i}`;
          return {
            session: {
              id,
              participantId: participant.id,
              studyId: site.study.id,
              status: given.finished ? 'completed' : 'abandoned',
              startedAt: new Date(at).toISOString(),
              completedAt: given.finished ? new Date(at + given.length * 60_000).toISOString() : null,
              timezone: given.zone,
              language: given.language,
              deviceId: 'tablet-7',
              syncStatus: 'pending',
              syncAttempts: i,
            },
            responses: given.tasks.map((task) => ({
              id: `${id}/${task}`,
              sessionId: id,
              task,
              summary: { accuracy: given.accuracy },
              trials: given.trials.map((trial, n) => ({
                trial_index: n,
                ...trial,
                timestamp: new Date(at + n * 1000).toISOString(),
              })),
            })),
          };
        });
        await site.visit({
          participant_id: participant.id,
          target_date: new Date(start + 7 * 86_400_000).toISOString().slice(0, 10),
          window_open: new Date(start + 6 * 86_400_000).toISOString().slice(0, 10),
          window_close: new Date(start + 8 * 86_400_000).toISOString().slice(0, 10),
        });
        await deliver(site, device, pieces);
        await compare(site, participant.id, device);
      }),
      { numRuns: asMuchAs(8, 15) },
    );
  });
});

interface Piece {
  size: number;
  order: number;
  lost: boolean;
  again: string;
  early: boolean;
}

/** Sends until every item has an answer that settles it, as a client does; then everything again. */
async function deliver(site: Site, device: readonly Recorded[], pieces: readonly Piece[]): Promise<void> {
  const waiting = new Map<string, { kind: 'session' | 'response'; item: { id: string } }>();
  for (const { session, responses } of device) {
    waiting.set(session.id, { kind: 'session', item: session });
    for (const response of responses) waiting.set(response.id, { kind: 'response', item: response });
  }
  const send = async (ids: readonly string[], early = false): Promise<Pick<BulkView, 'results'>> => {
    const of = (kind: string): object[] =>
      ids.flatMap((id) => (waiting.get(id)?.kind === kind ? [waiting.get(id)!.item] : []));
    const sessions = early
      ? of('session').map((item) => ({ ...item, status: 'active', completedAt: null }))
      : of('session');
    // One item goes by its own endpoint.
    if (ids.length === 1)
      return {
        results: [
          await site.http.expect<ItemView>(
            200,
            'POST',
            `/api/sync/${sessions.length === 1 ? 'sessions' : 'responses'}`,
            sessions[0] ?? of('response')[0],
          ),
        ],
      };
    return site.bulk({ sessions, responses: of('response') });
  };
  for (let round = 0; waiting.size > 0; round++) {
    if (round > 200) throw new Error(`these items are never settled: ${[...waiting.keys()].join(', ')}`);
    const piece = pieces[round % pieces.length]!;
    const ids = [...waiting.keys()]
      .sort((a, b) => rank(a, piece.order + round) - rank(b, piece.order + round))
      .slice(0, piece.size);
    const early = piece.early && round < 20;
    const [answer] =
      piece.again === 'at once'
        ? await Promise.all([send(ids, early), send([...ids].reverse())])
        : [await send(ids, early)];
    if (piece.again === 'after') await send([...ids].reverse());
    // After a while answers arrive again; until then some are lost, and the device knows nothing of what was taken.
    if (piece.lost && round < 40) continue;
    for (const { status, local_id, code } of answer.results) {
      if (status === 'rejected') expect(code).to.equal('UNKNOWN_SESSION');
      // It is finished by now: its end is still to be told.
      else if (!early || waiting.get(local_id!)?.kind === 'response') waiting.delete(local_id!);
    }
  }
  const all = await site.bulk({
    sessions: device.map(({ session }) => session),
    responses: device.flatMap(({ responses }) => responses),
  });
  expect(
    all.results.every((result) => result.status === 'duplicate'),
    JSON.stringify(all.results.filter((r) => r.status !== 'duplicate')),
  ).to.equal(true);
}

/** An order that depends on the piece alone. */
function rank(id: string, seed: number): number {
  let hash = seed | 0;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

async function compare(site: Site, participantId: string, device: readonly Recorded[]): Promise<void> {
  const { items, total } = await site.http.expect(
    200,
    'GET',
    `/api/sessions?participant_id=${participantId}&limit=500`,
  );
  expect(total).to.equal(device.length);
  for (const { session, responses } of device) {
    const stored = items.find((one) => one.local_id === session.id)!;
    expect([stored.status, stored.source, stored.device_id, stored.timezone]).to.deep.equal([
      session.status,
      'offline',
      session.deviceId,
      session.timezone,
    ]);
    if (session.language !== null) expect(stored.language).to.equal(session.language);
    const { tasks: told } = await site.see(stored.id);
    expect((told as { local_id: string }[]).map(({ local_id }) => local_id)).to.have.members(
      responses.map(({ id }) => id),
    );
    expect(Date.parse(stored.started_at as string)).to.equal(Date.parse(session.startedAt as string));
    if (session.completedAt !== null)
      expect(Date.parse(stored.completed_at as string)).to.equal(Date.parse(session.completedAt as string));
    expect(stored.task_summaries).to.deep.equal(
      Object.fromEntries(responses.map(({ task, summary }) => [task, summary])),
    );
    const sent = [...responses]
      .sort((a, b) => (a.task < b.task ? -1 : 1))
      .flatMap(({ task, trials }) => trials.map((trial) => ({ task, ...trial })));
    if (stored.trial_count !== 0 || sent.length > 0) expect(await site.trials(stored.id)).to.deep.equal(sent);
  }
  // One visit, done by one of the sessions in its window or by none: never lost, never twice.
  const { items: visits } = await site.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${participantId}`);
  const inWindow = items.filter((one) => one.visit_id === visits[0]!.id && one.status === 'completed');
  expect(visits[0]!.status === 'completed').to.equal(inWindow.length > 0);
  if (inWindow.length > 0) expect(inWindow.map((one) => one.id)).to.include(visits[0]!.session_id);
  // Nothing was put aside that is not there; what was kept beside the visit's own session is told, each once.
  const { items: conflicts } = await site.conflicts(`?participant_id=${participantId}&limit=500`);
  expect(conflicts.map((one) => [one.conflict_type, one.session_id])).to.have.deep.members(
    inWindow.filter((one) => one.id !== visits[0]!.session_id).map((one) => ['visit_already_completed', one.id]),
  );
}
