import { expect } from 'chai';
import { Http, newParticipant, newStudy, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { enterAsCaregiver, enterPortal } from '../support/portal.js';
import { DAY_MS, Site, day } from '../assessment/stage.js';

interface Feed {
  id: string;
  url: string;
  caregiver_id: string | null;
}

describe('Calendar feeds', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });

  const person = (fields: Record<string, unknown> = {}): Promise<Loose> =>
    site.newParticipant({ email: `${unique('p')}@example.org`, ...fields });
  /** As a calendar program does, which has nothing but the address. */
  const read = (url: string, headers: Record<string, string> = {}) => {
    const { origin, pathname, search } = new URL(url);
    return new Http(origin).get(`${pathname}${search}`, { headers });
  };

  it('need no token of a login, have an ETag, say how often to look again, and speak the participant’s language', async () => {
    const who = await person({ preferred_language: 'de-AT' });
    await site.visit({ participant_id: who.id, name: 'week_4_arm_1' });
    const portal = await enterPortal(site.http, who.id);
    expect((await portal.get('/api/portal/calendar-feed')).status).to.equal(404);
    const made = await portal.post<Feed>('/api/portal/calendar-feed');
    expect(made.status).to.equal(201);
    const again = await portal.post<Feed>('/api/portal/calendar-feed');
    expect([again.status, again.body]).to.deep.equal([200, made.body]);
    expect((await portal.get<Feed>('/api/portal/calendar-feed')).body).to.deep.equal(made.body);
    const answer = await read(made.body.url);
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'text/calendar; charset=utf-8']);
    const text = answer.text.replaceAll('\r\n ', '');
    expect(text)
      .to.include('SUMMARY:Week 4')
      .and.include('DESCRIPTION:Möglich vom')
      .and.include('REFRESH-INTERVAL;VALUE=DURATION:PT6H')
      .and.include('X-WR-CALNAME:A study');
    expect(text).not.to.include(String(who.participant_code));
    const seen = { 'If-None-Match': answer.headers.get('etag')! };
    expect((await read(made.body.url, seen)).status).to.equal(304);
    await site.visit({ participant_id: who.id, name: 'Week 8' }, [20, 24]);
    expect((await read(made.body.url, seen)).status).to.equal(200);
  });

  it('are not made for a participant whose identity was erased', async () => {
    const who = await person();
    const path = `/api/participants/${String(who.id)}/calendar-feeds`;
    const { url } = await site.http.expect<Feed>(201, 'POST', path);
    await site.http.expect(200, 'POST', `/api/participants/${String(who.id)}/erase`, { reason: 'asked' });
    expect((await read(url)).status).to.equal(404);
    const { status, body } = await site.http.post<Loose>(path);
    expect([status, body.code]).to.deep.equal([409, 'PARTICIPANT_ERASED']);
    expect((await site.http.expect(200, 'GET', path)).items).to.deep.equal([]);
  });

  it('end by anyone who has them: the participant, or staff', async () => {
    const who = await person();
    const portal = await enterPortal(site.http, who.id);
    const first = await portal.expect<Feed>(201, 'POST', '/api/portal/calendar-feed');
    await portal.expect(204, 'DELETE', '/api/portal/calendar-feed');
    await portal.expect(404, 'DELETE', '/api/portal/calendar-feed');
    const path = `/api/participants/${String(who.id)}/calendar-feeds`;
    const second = await site.http.expect<Feed>(201, 'POST', path);
    expect(second.url).not.to.equal(first.url);
    expect([(await read(first.url)).status, (await read(second.url)).status]).to.deep.equal([404, 200]);
    expect((await site.http.expect<{ items: Feed[] }>(200, 'GET', path)).items).to.deep.equal([second]);
    expect((await portal.get<Feed>('/api/portal/calendar-feed')).body.url).to.equal(second.url);
    await site.http.expect(204, 'DELETE', `${path}/${second.id}`);
    await site.http.expect(404, 'DELETE', `${path}/${second.id}`);
    expect((await read(second.url)).status).to.equal(404);
    for (const token of ['x', `${first.id}.x`, second.url.split('token=')[1]!.replace(second.id, first.id)])
      expect((await new Http(site.http.base).get(`/api/calendar/visits.ics?token=${token}`)).status).to.equal(404);
  });

  it('have each visit once, on its present day, however many there are and however often they were moved', async () => {
    const study = await newStudy(site.http, {
      consent_mode: 'external',
      config: {
        scheduling_mode: 'edc',
        enrollment_date_policy: { sources: [{ type: 'manual_entry' }], validation: { cannot_be_future: false } },
      },
    });
    const today = Date.parse(day());
    const later = (days: number) => new Date(today + days * DAY_MS).toISOString().slice(0, 10);
    const repeating = { count: 260, every_days: 1 };
    const diary = { event_oid: 'DIARY', name: 'Diary', target_day: 1, repeating };
    await site.http.expect(201, 'POST', `/api/studies/${study.id}/event-definitions`, diary);
    const who = await newParticipant(site.http, study.id);
    const anchor = `/api/studies/${study.id}/participants/${who.id}/anchor-date`;
    await site.http.expect(200, 'POST', anchor, { enrollment_date: later(1) });
    await site.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: later(2), reason: 'a day later' });
    const { text } = await site.http.get(`/api/participants/${who.id}/visits.ics`);
    const seen = [...text.matchAll(/^DTSTART;VALUE=DATE:(\d+)/gm)].map(([, date]) => date);
    const planned = Array.from({ length: repeating.count }, (_, i) => later(3 + i).replaceAll('-', ''));
    expect(seen).to.deep.equal(planned);
    expect(text).not.to.include('CANCELLED');
  });

  it('cancel a visit on the last day that it had, whatever became of it before', async () => {
    const study = await newStudy(site.http, {
      consent_mode: 'external',
      config: {
        enrollment_date_policy: {
          schedule_on_provisional: true,
          sources: [{ type: 'manual_entry' }],
          prerequisites: { require_eligibility_confirmed: true },
          validation: { cannot_be_future: false },
        },
      },
    });
    const given = { study_id: study.id, code: 'W', name: 'W', target_day: 0 };
    const window = await site.http.expect<Loose>(201, 'POST', '/api/schedules/windows', given);
    const who = await newParticipant(site.http, study.id);
    const anchor = `/api/studies/${study.id}/participants/${who.id}/anchor-date`;
    const read = async () => {
      const { text } = await site.http.get(`/api/participants/${who.id}/visits.ics`);
      return [...text.matchAll(/^(?:DTSTART;VALUE=DATE|STATUS):(\w+)/gm)].map(([, value]) => value);
    };
    const set = (date: string) => site.http.expect(200, 'POST', anchor, { enrollment_date: date });
    await set('2031-05-20');
    await site.http.expect(200, 'POST', `${anchor}/cancel`, { reason: 'mistyped' });
    expect(await read()).to.deep.equal(['20310520', 'CANCELLED']);
    await set('2031-06-21');
    expect(await read()).to.deep.equal(['20310621', 'CONFIRMED']);
    await site.http.expect(204, 'DELETE', `/api/schedules/windows/${String(window.id)}`);
    await until(async () => (await read()).includes('CANCELLED'), { what: 'the visit to be cancelled' });
    expect(await read()).to.deep.equal(['20310621', 'CANCELLED']);
  });

  it('of a participant who has withdrawn cancel what was still to be done', async () => {
    const who = await person();
    await site.visit({ participant_id: who.id, name: 'Week 4' });
    const { url } = await site.http.expect<Feed>(201, 'POST', `/api/participants/${String(who.id)}/calendar-feeds`);
    expect((await read(url)).text).to.include('STATUS:CONFIRMED');
    await site.http.expect(200, 'POST', `/api/participants/${String(who.id)}/withdraw`, { reason: 'moved' });
    expect((await read(url)).text)
      .to.include('STATUS:CANCELLED')
      .and.not.include('STATUS:CONFIRMED');
  });

  it('of a caregiver are its own, in its language, and end with the care', async () => {
    const who = await person();
    await site.visit({ participant_id: who.id, name: 'Week 4' });
    const at = `/api/studies/${site.study.id}/caregivers`;
    const { id } = await site.http.expect<{ id: string }>(201, 'POST', at, { name: 'Ada', preferred_language: 'fr' });
    await site.http.expect(200, 'PUT', `${at}/${id}/participants/${String(who.id)}`, { relationship: 'parent' });
    const portal = await enterAsCaregiver(site.http, site.study.id, id);
    const feed = await portal.expect<Feed>(201, 'POST', '/api/portal/calendar-feed');
    expect(feed.caregiver_id).to.equal(id);
    expect((await read(feed.url)).text).to.include('Possible du');
    await site.http.expect(204, 'DELETE', `${at}/${id}/participants/${String(who.id)}`);
    expect((await read(feed.url)).status).to.equal(404);
  });
});
