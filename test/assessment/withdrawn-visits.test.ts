import { expect } from 'chai';
import type pg from 'pg';
import { unique } from '../support/http.js';
import type { Answer, Loose } from '../support/http.js';
import { seesEverything } from '../support/everything.js';
import { enterPortal } from '../support/portal.js';
import { until } from '../support/until.js';
import { Site, day } from './stage.js';

type Call = [title: string, method: 'PATCH' | 'POST', under: string, body: Record<string, unknown>];

const why = { reason: 'asked for it' };
/** What moves the schedule, of a visit that is scheduled. */
const MOVES: Call[] = [
  ['a target', 'PATCH', '', { target_date: day(6) }],
  ['the beginning of a window', 'PATCH', '', { window_open: day(-1) }],
  ['the end of a window', 'PATCH', '', { window_close: day(30) }],
  ['a date beside what is no date', 'PATCH', '', { name: 'Renamed', window_close: day(30) }],
  ['a status', 'PATCH', '', { status: 'cancelled' }],
  ['a cancellation', 'POST', '/cancel', why],
];

describe('Visits of a withdrawn participant', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const upcoming = () => site.visit({}, [5, 10]);
  const send = ([, method, under, body]: Call, visit: Loose): Promise<Answer<Loose>> =>
    site.http.send(method, `/api/visits/${visit.id}${under}`, body);
  const withdraw = () =>
    site.http.expect(200, 'POST', `/api/participants/${site.participant.id}/withdraw`, { reason: 'moved' });
  const says = ({ status, body }: Answer<Loose>) => [status, status < 400 ? body.status : body.code];
  const frozen = [409, 'PARTICIPANT_WITHDRAWN'];

  it('stay on their days: what moves the schedule is 409 and leaves the visit and the audit log as they were', async () => {
    const visit = await upcoming();
    await withdraw();
    const records = async () =>
      (await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=100`)).items.filter(
        (r) => r.resource_id === visit.id,
      ).length;
    const [before, noted] = [await site.seeVisit(visit.id), await records()];
    for (const call of MOVES) {
      expect(says(await send(call, visit)), call[0]).to.deep.equal(frozen);
      expect(await site.seeVisit(visit.id), call[0]).to.deep.equal(before);
    }
    expect(await records()).to.equal(noted);
  });

  it('are not reopened, whether they were cancelled, missed or completed', async () => {
    const [cancelled, completed, missed] = [await upcoming(), await site.visit(), await site.visit({}, [-6, -4])];
    await site.http.expect(200, 'POST', `/api/visits/${cancelled.id}/cancel`, why);
    await site.http.expect(200, 'POST', `/api/visits/${completed.id}/complete`);
    await withdraw();
    for (const [visit, status] of [
      [cancelled, 'cancelled'],
      [completed, 'completed'],
      [missed, 'missed'],
    ] as const) {
      expect(says(await send(['', 'POST', '/reopen', why], visit)), status).to.deep.equal(frozen);
      expect((await site.seeVisit(visit.id)).status).to.equal(status);
    }
  });

  it('take what moves nothing, and facts', async () => {
    const [visit, cancelled] = [await upcoming(), await upcoming()];
    await send(['', 'POST', '/cancel', why], cancelled);
    await withdraw();
    const calls: [...Call, status: string][] = [
      ['a name', 'PATCH', '', { name: 'Renamed' }, 'scheduled'],
      ['a mark for review', 'PATCH', '', { needs_review: true }, 'scheduled'],
      [
        'the days that it has',
        'PATCH',
        '',
        { target_date: day(5), window_open: day(5), window_close: day(10) },
        'scheduled',
      ],
      ['the reopening of what is to be done', 'POST', '/reopen', why, 'scheduled'],
      ['a completion', 'POST', '/complete', {}, 'completed'],
    ];
    for (const [title, method, under, body, status] of calls)
      expect(says(await send([title, method, under, body], visit)), title).to.deep.equal([200, status]);
    expect(await site.seeVisit(visit.id)).to.include({
      name: 'Renamed',
      needs_review: true,
      target_date: day(5),
      window_close: day(10),
    });
    expect(
      says(await send(['', 'POST', '/cancel', why], cancelled)),
      'a cancellation that was made before',
    ).to.deep.equal([200, 'cancelled']);
  });

  describe('while the withdrawal is being written', () => {
    let database: pg.Client;
    before(async () => {
      database = await seesEverything();
    });
    after(() => database.end());

    /** What a call is told that comes after the withdrawal was written and before it was committed. */
    async function meanwhile(
      call: () => Promise<Answer<Loose>>,
      participant = site.participant.id,
    ): Promise<Answer<Loose>> {
      await database.query('begin');
      try {
        await database.query(
          `update participants set status = 'withdrawn', withdrawn_at = now(), withdrawal_reason = 'moved' where id = $1`,
          [participant],
        );
        const answer = call();
        await until(
          async () =>
            (
              await database.query<{ n: number }>(
                'select count(*)::int as n from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))',
              )
            ).rows[0]!.n > 0,
          { what: 'the call to wait for the withdrawal' },
        );
        await database.query('commit');
        return await answer;
      } finally {
        await database.query('rollback');
      }
    }

    const reopening: Call = ['a reopening', 'POST', '/reopen', why];
    for (const call of [...MOVES, reopening]) {
      it(`${call[0]} waits for it and is refused`, async () => {
        const visit = await upcoming();
        if (call === reopening) await send(['', 'POST', '/cancel', why], visit);
        const before = await site.seeVisit(visit.id);
        expect(says(await meanwhile(() => send(call, visit)))).to.deep.equal(frozen);
        expect(await site.seeVisit(visit.id)).to.deep.equal(before);
      });
    }

    it('the start of a session waits for it and is refused, of staff and of the participant’s own token', async () => {
      for (const who of ['staff', 'participant'] as const) {
        const { id } = await site.newParticipant();
        const caller = who === 'staff' ? site.http : await enterPortal(site.http, id);
        expect(
          says(await meanwhile(() => caller.post('/api/session/start', { participant_id: id, language: 'en' }), id)),
          who,
        ).to.deep.equal(frozen);
      }
    });

    it('a device for push messages waits for it and is refused, of staff and of the participant’s own token', async () => {
      for (const who of ['staff', 'participant'] as const) {
        const { id } = await site.newParticipant();
        const caller = who === 'staff' ? site.http : await enterPortal(site.http, id);
        const device = { platform: 'ios', token: unique('device'), ...(who === 'staff' && { participant_id: id }) };
        expect(says(await meanwhile(() => caller.post('/api/notifications/register', device), id)), who).to.deep.equal(
          frozen,
        );
      }
    });

    it('a visit by hand waits for it and is refused, with a window and without', async () => {
      const window = await site.http.expect(201, 'POST', '/api/schedules/windows', {
        study_id: site.study.id,
        code: 'W',
        name: 'W',
        target_day: 0,
      });
      for (const more of [{ name: 'V' }, { visit_window_id: window.id }]) {
        const { id } = await site.newParticipant();
        expect(
          says(
            await meanwhile(
              () => site.http.post('/api/schedules/visits', { participant_id: id, target_date: day(5), ...more }),
              id,
            ),
          ),
        ).to.deep.equal(frozen);
      }
    });
  });
});
