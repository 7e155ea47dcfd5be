import { expect } from 'chai';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { readingSealed } from '../support/temporal.js';
import { Site, day, instant, runSchedule } from './stage.js';

describe('Visits and the calendar', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const move = (visit: { id: string }, status: string) =>
    runSchedule(
      'update_visit_statuses',
      async () => (await site.seeVisit(visit.id)).status === status && (await site.seeVisit(visit.id)),
      `the visit to be ${status}`,
    );
  const schedule = (fields: Record<string, unknown>) => site.visit(fields);
  /** A window around today that has begun without the visit being opened: put there by a change of the study's zone. */
  const today = (zone: string) => new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(new Date());

  it('are moved by a Temporal Schedule of that name, hourly, that skips a run while one is open', async () => {
    const run = await service();
    const connection = await Connection.connect({ address: run.temporal });
    try {
      const about = await new Client({ connection, namespace: run.temporal_namespace, ...readingSealed(run) }).schedule
        .getHandle('update_visit_statuses')
        .describe();
      expect(about.spec.intervals?.[0]?.every).to.equal(3_600_000);
      expect(about.policies.overlap).to.equal('SKIP');
      expect(about.policies.catchupWindow).to.equal(3_600_000);
    } finally {
      await connection.close();
    }
  });

  it('open on the local date of the study, and are missed once their window has closed there', async () => {
    // Where it is a day later than in the zone of the study when the visits are made.
    await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { timezone: 'Pacific/Pago_Pago' });
    const [here, there] = [today('Pacific/Pago_Pago'), today('Pacific/Kiritimati')];
    expect(here < there).to.equal(true);
    const opens = await schedule({ target_date: there, window_open: there, window_close: there });
    const closes = await schedule({ target_date: here, window_open: here, window_close: here });
    const stays = await schedule({ target_date: '2999-01-01', window_open: '2999-01-01', window_close: '2999-01-01' });
    expect([opens.status, closes.status, stays.status]).to.deep.equal(['scheduled', 'open', 'scheduled']);
    await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { timezone: 'Pacific/Kiritimati' });
    expect(await move(opens, 'open')).to.include({ adherence: 'pending', days_off_target: null });
    expect(await site.seeVisit(closes.id)).to.include({ status: 'missed', adherence: 'missed' });
    expect((await site.seeVisit(stays.id)).status).to.equal('scheduled');
    const recorded = async () =>
      (await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=100`)).items
        .filter((r) => r.action === 'visit_statuses_updated')
        .flatMap((r) => (r.audit_metadata as { opened: string[] }).opened);
    await runSchedule(
      'update_visit_statuses',
      async () => (await recorded()).includes(opens.id) || undefined,
      'the visit to be recorded as open',
    );
  });

  it('are not left missed, or open too early, where a zone is corrected, nor a clock', async () => {
    const [west, east] = ['Pacific/Pago_Pago', 'Pacific/Kiritimati'];
    const place = await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, {
      site_code: 'Corrected',
      timezone: east,
    });
    const [here, there] = [today(west), today(east)];
    const on = (date: string, participant_id: string) =>
      schedule({ participant_id, target_date: date, window_open: date, window_close: date });
    const statuses = async (visits: Loose[]) =>
      Promise.all(visits.map(async ({ id }) => (await site.seeVisit(id)).status));
    const counts = `/api/reports/studies/${site.study.id}/summary`;
    const summary = async () => (await site.http.expect<{ visits: Record<string, number> }>(200, 'GET', counts)).visits;
    const zoneOf = (path: string, timezone: string) => site.http.expect(200, 'PATCH', path, { timezone });

    // The zone of the study, of the site, and the site of the participant.
    await zoneOf(`/api/studies/${site.study.id}`, east);
    const placed = await site.newParticipant({ site_id: place.id });
    const visits = [
      await on(here, site.participant.id),
      await on(there, site.participant.id),
      await on(here, placed.id),
      await on(there, placed.id),
    ];
    expect(await statuses(visits)).to.deep.equal(['missed', 'open', 'missed', 'open']);
    await zoneOf(`/api/studies/${site.study.id}`, west);
    expect(await statuses(visits)).to.deep.equal(['open', 'scheduled', 'missed', 'open']);
    expect(await summary()).to.include({ open: 2, scheduled: 1, missed: 1 });
    await site.http.expect(200, 'PATCH', `/api/participants/${placed.id}`, { site_id: null });
    expect(await statuses(visits)).to.deep.equal(['open', 'scheduled', 'open', 'scheduled']);
    await site.http.expect(200, 'PATCH', `/api/participants/${placed.id}`, { site_id: place.id });
    const moved = await on(here, placed.id);
    expect(moved.status).to.equal('missed');
    await zoneOf(`/api/sites/${place.id}`, west);
    expect(await statuses([...visits, moved])).to.deep.equal(['open', 'scheduled', 'open', 'scheduled', 'open']);
    expect(await summary()).to.include({ open: 3, scheduled: 2, missed: 0 });

    // What a clock that was years ahead has left.
    const far = await on('2999-01-01', site.participant.id);
    const sql = new pg.Client({ connectionString: (await service()).database_url });
    await sql.connect();
    try {
      await sql.query(`update scheduled_visits set status = 'missed' where id = any($1)`, [[far.id, visits[0]!.id]]);
    } finally {
      await sql.end();
    }
    await move(far, 'scheduled');
    await move(visits[0]!, 'open');
  });

  it('follow the zone of the participant’s site before the study’s; a withdrawn participant’s do not move', async () => {
    await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { timezone: 'Pacific/Pago_Pago' });
    const place = await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, {
      site_code: 'East',
      name: 'East',
      timezone: 'Pacific/Pago_Pago',
    });
    const there = today('Pacific/Kiritimati');
    const dates = { target_date: there, window_open: there, window_close: there };
    const gone = await site.newParticipant({ site_id: place.id });
    const [own, frozen, elsewhere] = [
      await schedule({ ...dates, participant_id: (await site.newParticipant({ site_id: place.id })).id }),
      await schedule({ ...dates, participant_id: gone.id }),
      await schedule(dates),
    ];
    await site.http.expect(200, 'POST', `/api/participants/${gone.id}/withdraw`, { reason: 'x' });
    await site.http.expect(200, 'PATCH', `/api/sites/${place.id}`, { timezone: 'Pacific/Kiritimati' });
    await move(own, 'open');
    expect([(await site.seeVisit(frozen.id)).status, (await site.seeVisit(elsewhere.id)).status]).to.deep.equal([
      'scheduled',
      'scheduled',
    ]);
  });

  it('follow the calendar at once when their window is changed', async () => {
    const visit = await site.visit({}, [3, 5]);
    const changed = await site.http.expect(200, 'PATCH', `/api/visits/${visit.id}`, { window_open: day(-1) });
    expect(changed.status).to.equal('open');
  });

  it('with a window that has closed is missed from the start, and completed all the same', async () => {
    const visit = await site.visit({}, [-6, -4]);
    expect(visit).to.include({ status: 'missed', adherence: 'missed' });
    expect((await site.http.expect(200, 'POST', `/api/visits/${visit.id}/complete`, {})).status).to.equal('completed');
  });

  for (const [title, [open, close], completed, adherence, off] of [
    ['before its window', [2, 4], 0, 'early', -2],
    ['in its window', [-1, 1], 0, 'in_window', 1],
    ['after its window', [-6, -4], 0, 'late', 6],
  ] as const) {
    it(`completed ${title} says ${adherence}, ${off} days off target`, async () => {
      const visit = await site.visit({}, [open, close]);
      const done = await site.http.expect(200, 'POST', `/api/visits/${visit.id}/complete`, {
        completed_at: instant(completed),
      });
      expect(done).to.include({ status: 'completed', adherence, days_off_target: off });
    });
  }

  it('are cancelled and reopened with a reason, audited; what a session completed can be taken back', async () => {
    const visit = await site.visit();
    const post = (verb: string, body: unknown = { reason: 'asked for it' }) =>
      site.http.post(`/api/visits/${visit.id}/${verb}`, body);
    expect((await post('cancel', {})).status).to.equal(422);
    expect((await post('cancel')).body).to.include({
      status: 'cancelled',
      status_reason: 'asked for it',
      adherence: 'cancelled',
    });
    expect((await post('cancel')).status).to.equal(200);
    expect((await post('complete', {})).body.code).to.equal('VISIT_CLOSED');
    expect((await post('reopen')).body).to.include({ status: 'open', adherence: 'pending' });
    const id = await site.session();
    await site.end(id);
    expect((await post('cancel')).body.code).to.equal('VISIT_CLOSED');
    expect((await post('reopen')).body).to.include({ status: 'open', session_id: null, completed_at: null });
    expect((await site.see(id)).status).to.equal('completed');
    const audit = (await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=100`)).items.filter(
      (r) => r.resource_id === visit.id,
    );
    const reopened = audit.filter((r) => r.action === 'visit_reopened').map((r) => r.audit_metadata as Loose);
    expect(reopened.map((m) => [m.reason, m.status_before, m.session_id_before ?? null])).to.deep.include.members([
      ['asked for it', 'cancelled', null],
      ['asked for it', 'completed', id],
    ]);
  });

  it('keep why they were cancelled, however that was asked for, and no half of a letter of a long reason', async () => {
    const cancelled = async (method: string, under: string, body: object) =>
      (await site.http.send(method, `/api/visits/${(await site.visit()).id}${under}`, body)).body.status_reason;
    expect(await cancelled('PATCH', '', { status: 'cancelled', reason: 'on holiday' })).to.equal('on holiday');
    expect(await cancelled('PATCH', '', { status: 'cancelled' })).to.equal('cancelled by hand');
    const long = 'x'.repeat(199);
    for (const reason of [`${long}🙂`, `${long}🙂 and more`]) {
      expect(await cancelled('POST', '/cancel', { reason })).to.equal(long);
      expect(await cancelled('PATCH', '', { status: 'cancelled', reason })).to.equal(long);
    }
  });

  it('that a later schedule has replaced stay replaced', async () => {
    const study = await Site.open({
      consent_mode: 'external',
      config: { enrollment_date_policy: { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] } },
    });
    await study.http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: study.study.id,
      code: 'D0',
      name: 'Day 0',
      target_day: 0,
    });
    const anchor = `/api/studies/${study.study.id}/participants/${study.participant.id}/anchor-date`;
    await study.http.expect(200, 'POST', anchor, { enrollment_date: day(-1) });
    const [first] = (
      await study.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${study.participant.id}`)
    ).items;
    await study.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: day(-2), reason: 'wrong' });
    expect((await study.http.post(`/api/visits/${first!.id}/reopen`, { reason: 'x' })).body.code).to.equal(
      'VISIT_CLOSED',
    );
    const feed = (await study.http.get(`/api/participants/${study.participant.id}/visits.ics`)).text;
    expect(feed.match(/BEGIN:VEVENT/g), 'one event for the visit, moved').to.have.length(1);
    expect(feed).to.include(`DTSTART;VALUE=DATE:${day(-2).replaceAll('-', '')}`);
  });

  it('that somebody cancelled stay cancelled when the schedule moves, and are reopened on the days that it has now', async () => {
    const study = await Site.open({
      consent_mode: 'external',
      config: { enrollment_date_policy: { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] } },
    });
    for (const [code, target_day] of [
      ['D0', 0],
      ['D10', 10],
      ['D20', 20],
    ] as const) {
      await study.http.expect(201, 'POST', '/api/schedules/windows', {
        study_id: study.study.id,
        code,
        name: code,
        target_day,
        window_before: 1,
        window_after: 1,
      });
    }
    const anchor = `/api/studies/${study.study.id}/participants/${study.participant.id}/anchor-date`;
    await study.http.expect(200, 'POST', anchor, { enrollment_date: day(-1) });
    const all = async () =>
      (await study.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${study.participant.id}`)).items;
    const ofName = (visits: Loose[], name: string) =>
      visits.filter((visit) => visit.name === name).map((visit) => [visit.id, visit.status, visit.target_date]);
    const [, d10, d20] = await all();
    await study.http.expect(200, 'POST', `/api/visits/${d10!.id}/cancel`, { reason: 'abroad' });
    await study.http.expect(200, 'PATCH', `/api/visits/${d20!.id}`, { status: 'cancelled' });

    const evaluated = await study.http.expect(200, 'POST', `${anchor}/evaluate`, {});
    expect(
      [
        evaluated.result,
        (await study.http.expect(200, 'GET', anchor.replace('anchor-date', 'schedule-versions'))).length,
      ],
      'a cancellation alone makes no other schedule',
    ).to.deep.equal(['unchanged', 1]);
    const preview = await study.http.expect(200, 'POST', `${anchor}/override/preview`, {
      new_enrollment_date: day(-2),
      reason: 'wrong',
    });
    expect((preview.visits as Loose[]).map((visit) => visit.action)).to.have.members(['move', 'keep', 'keep']);
    await study.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: day(-2), reason: 'wrong' });
    const after = await all();
    expect(ofName(after, 'D10')).to.deep.equal([[d10!.id, 'cancelled', day(9)]]);
    expect(ofName(after, 'D20')).to.deep.equal([[d20!.id, 'cancelled', day(19)]]);
    expect(ofName(after, 'D0').map(([, status]) => status)).to.have.members(['superseded', 'missed']);
    const current = await study.http.expect(200, 'GET', anchor.replace('anchor-date', 'schedule'));
    expect((current.visits as Loose[]).map((visit) => [visit.name, visit.status, visit.carried])).to.have.deep.members([
      ['D0', 'missed', false],
      ['D10', 'cancelled', true],
      ['D20', 'cancelled', true],
    ]);

    const reopened = await study.http.expect(200, 'POST', `/api/visits/${d10!.id}/reopen`, { reason: 'back again' });
    expect(reopened).to.include({
      id: d10!.id,
      status: 'scheduled',
      target_date: day(8),
      window_open: day(7),
      window_close: day(9),
    });
    await study.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: day(-3), reason: 'wrong again' });
    expect(ofName(await all(), 'D10'))
      .to.deep.include.members([[d10!.id, 'superseded', day(8)]])
      .and.have.length(2);
    expect(
      ofName(await all(), 'D10')
        .filter(([, status]) => status === 'scheduled')
        .map(([, , target]) => target),
    ).to.deep.equal([day(7)]);
    expect(ofName(await all(), 'D20')).to.deep.equal([[d20!.id, 'cancelled', day(19)]]);
  });

  it('have one SEQUENCE in the feed, which rises with each move; after a withdrawal what was ahead is cancelled', async () => {
    const study = await Site.open({
      consent_mode: 'external',
      config: { enrollment_date_policy: { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] } },
    });
    await study.http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: study.study.id,
      code: 'D20',
      name: 'D20',
      target_day: 20,
    });
    const who = study.participant.id;
    const anchor = `/api/studies/${study.study.id}/participants/${who}/anchor-date`;
    const seen = async () => {
      const { text } = await study.http.get(`/api/participants/${who}/visits.ics`);
      return {
        uid: /UID:(\S+)/.exec(text)![1],
        sequence: Number(/SEQUENCE:(\d+)/.exec(text)![1]),
        date: /DTSTART;VALUE=DATE:(\d+)/.exec(text)![1],
        status: /STATUS:(\w+)/.exec(text)![1],
      };
    };
    await study.http.expect(200, 'POST', anchor, { enrollment_date: day(-1) });
    let last = await seen();
    for (const to of [-2, -3, -1]) {
      await study.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: day(to), reason: 'wrong' });
      const next = await seen();
      expect(next).to.include({
        uid: last.uid,
        status: 'CONFIRMED',
        date: day(20 + to).replaceAll('-', ''),
      });
      expect(next.sequence).to.be.greaterThan(last.sequence);
      last = next;
    }
    await study.http.expect(200, 'POST', `/api/participants/${who}/withdraw`, {
      reason: 'left some days ago',
      withdrawn_at: `${day(-1)}T12:00:00Z`,
    });
    const left = await seen();
    expect(left).to.include({ uid: last.uid, status: 'CANCELLED' });
    expect(left.sequence).to.be.greaterThan(last.sequence);
  });

  for (const status of ['completed', 'archived']) {
    it(`of a study that is ${status} are cancelled in the feed as far as they lie ahead, and return with the study`, async () => {
      const study = await Site.open();
      const who = await study.newParticipant();
      await study.visit({ participant_id: who.id });
      const seen = async () => {
        const { text } = await study.http.get(`/api/participants/${who.id}/visits.ics`);
        return { status: /STATUS:(\w+)/.exec(text)![1], sequence: Number(/SEQUENCE:(\d+)/.exec(text)![1]) };
      };
      let last = await seen();
      for (const [change, shown] of [
        [status, 'CANCELLED'],
        ['active', 'CONFIRMED'],
        ['paused', 'CONFIRMED'],
      ]) {
        await study.http.expect(200, 'PATCH', `/api/studies/${study.study.id}`, { status: change });
        const next = await seen();
        expect(next.status, change).to.equal(shown);
        expect(next.sequence).to.be.at.least(last.sequence);
        last = next;
      }
    });
  }

  it('are a calendar feed that calendars can read, with nothing of the person in it', async () => {
    const who = await site.newParticipant({ email: 'someone@example.org' });
    await site.visit({ participant_id: who.id, name: `Besuch, erster; \\ "Tag" ${'ü'.repeat(60)}` }, [2, 4]);
    const gone = await site.visit({ participant_id: who.id, name: 'Gone' });
    await site.http.expect(200, 'POST', `/api/visits/${gone.id}/cancel`, { reason: 'x' });
    const feed = await site.http.get(`/api/participants/${who.id}/visits.ics`);
    expect(feed.headers.get('content-type')).to.equal('text/calendar; charset=utf-8');
    const lines = feed.text.split('\r\n');
    expect(lines.at(-1)).to.equal('');
    for (const line of lines) expect(Buffer.byteLength(line), line).to.be.at.most(75);
    const unfolded = feed.text.replaceAll('\r\n ', '');
    expect(unfolded)
      .to.include(`SUMMARY:Besuch\\, erster\\; \\\\ "Tag" ${'ü'.repeat(60)}\r\n`)
      .and.to.include(`DTSTART;VALUE=DATE:${day(2).replaceAll('-', '')}`);
    expect(unfolded.match(/STATUS:(\w+)/g)).to.have.members(['STATUS:CONFIRMED', 'STATUS:CANCELLED']);
    expect(unfolded)
      .not.to.include('someone')
      .and.not.to.include(who.participant_code as string);
    const stranger = await user(site.http, 'coordinator', { study_ids: [(await newStudy(site.http)).id] });
    expect((await stranger.get(`/api/participants/${who.id}/visits.ics`)).status).to.equal(404);
  });
});
