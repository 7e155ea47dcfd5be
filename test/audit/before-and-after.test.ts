import { expect } from 'chai';
import { imported } from '../data/stage.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

describe('The audit record of a change says what was before it, and what is after it', () => {
  let root: Http;
  let study: Loose;
  let [north, south] = [] as unknown as [Loose, Loose];
  before(async () => {
    root = await admin();
    study = await newStudy(root, { timezone: 'Europe/Berlin', consent_mode: 'external' });
    [north, south] = (await Promise.all(
      ['NORTH', 'SOUTH'].map((site_code) =>
        root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code, timezone: 'Asia/Kathmandu' }),
      ),
    )) as [Loose, Loose];
  });
  const person = (fields: object = {}) => newParticipant(root, study.id, { ...fields });
  /** What the records of an action say of a resource, the oldest first. */
  const told = async (action: string, resource: string) =>
    (await root.expect(200, 'GET', `/api/audit?study_id=${study.id}&action=${action}&resource_id=${resource}`)).items
      .map(({ audit_metadata }) => audit_metadata as Loose)
      .reverse();

  it('of a participant who moves to another site: from which, and to which, by hand and by a file', async () => {
    const { id, participant_code } = await person({ site_code: 'NORTH' });
    const move = (fields: object) => root.expect(200, 'PATCH', `/api/participants/${id}`, fields);
    await move({ site_code: 'SOUTH', arm: 'A' });
    await move({ site_id: null });
    await imported(root, study.id, `participant_code,site_code\n${String(participant_code)},NORTH\n`, '?mode=upsert');
    expect(await told('participant_changed', id)).to.deep.equal([
      { fields: ['arm', 'site_id'], site_id: south.id, site_id_before: north.id },
      { fields: ['site_id'], site_id: null, site_id_before: south.id },
      { fields: ['site_id'], site_id: north.id, site_id_before: null },
    ]);
  });

  it('of a site that is closed, and of zones', async () => {
    const own = await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'OWN' });
    await root.expect(200, 'PATCH', `/api/sites/${own.id}`, {
      timezone: 'Asia/Tokyo',
      status: 'inactive',
      name: 'Own',
    });
    expect(await told('site_changed', own.id)).to.deep.equal([
      {
        fields: ['name', 'status', 'timezone'],
        status: 'inactive',
        status_before: 'active',
        timezone: 'Asia/Tokyo',
        timezone_before: own.timezone,
      },
    ]);
    await root.expect(200, 'PATCH', `/api/studies/${study.id}`, { timezone: 'Europe/Kyiv', start_date: '2024-01-01' });
    expect((await told('study_changed', study.id)).at(-1)).to.include({
      timezone: 'Europe/Kyiv',
      timezone_before: 'Europe/Berlin',
      start_date: '2024-01-01',
      start_date_before: null,
    });
  });

  it('of a window that moves', async () => {
    const window = await root.expect(201, 'POST', '/api/schedules/windows', {
      study_id: study.id,
      code: 'W',
      name: 'W',
      target_day: 7,
      window_after: 2,
    });
    await root.expect(200, 'PATCH', `/api/schedules/windows/${window.id}`, { target_day: 9, window_after: 3 });
    expect(await told('visit_window_changed', window.id)).to.deep.equal([
      {
        fields: ['target_day', 'window_after'],
        target_day: 9,
        target_day_before: 7,
        window_after: 3,
        window_after_before: 2,
      },
    ]);
  });

  it('of a visit that is put on other days, and cancelled', async () => {
    const participant = await person();
    const days = { target_date: '2999-02-10', window_open: '2999-02-08', window_close: '2999-02-28' };
    const visit = await root.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: participant.id,
      name: 'Extra',
      ...days,
    });
    const change = (fields: object) => root.expect(200, 'PATCH', `/api/visits/${visit.id}`, fields);
    await change({ window_open: '2999-02-01', window_close: '2999-03-01', name: 'Mrs. Doe' });
    expect(await told('visit_changed', visit.id)).to.deep.equal([
      {
        participant_id: participant.id,
        fields: ['name', 'window_close', 'window_open'],
        window_close: '2999-03-01',
        window_close_before: '2999-02-28',
        window_open: '2999-02-01',
        window_open_before: '2999-02-08',
      },
    ]);
    await change({ status: 'cancelled', reason: 'ill' });
    expect(await told('visit_cancelled', visit.id)).to.deep.equal([
      {
        participant_id: participant.id,
        fields: ['status'],
        reason: 'ill',
        status: 'cancelled',
        status_before: 'scheduled',
      },
    ]);
  });

  it('of a consent that is revoked: since when', async () => {
    const participant = await person();
    const path = `/api/studies/${study.id}/participants/${participant.id}/consents`;
    const consent = await root.expect(201, 'POST', path, { status: 'signed', signed_at: '2024-02-29T10:00:00Z' });
    const revoked_at = '2024-03-01T08:00:00.000Z';
    await root.expect(200, 'PATCH', `${path}/${consent.id}`, { status: 'revoked', revoked_at });
    expect((await told('consent_revoked', consent.id))[0]).to.include({
      status_before: 'signed',
      status_after: 'revoked',
      revoked_at,
      revoked_at_before: null,
    });
  });
});
