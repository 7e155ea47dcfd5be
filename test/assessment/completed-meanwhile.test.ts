import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import type { Answer, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { Site, day } from './stage.js';
import type { BulkView } from './stage.js';

const POLICY = { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] };
const DAYS = { target_day: 0, window_before: 7, window_after: 7 };

describe('What a visit was planned from, of which it is being completed', () => {
  let owner: Database;
  before(async () => {
    const { database_url } = await service();
    owner = openDatabase({ url: database_url, poolMax: 2, name: 'completed-meanwhile', asOwner: true });
  });
  after(() => owner.destroy());

  /** Statuses and code where the one visit of a plan is completed, and its source is deleted meanwhile. */
  async function both(scheduling_mode: string, source: (study: string) => [add: string, at: string, body: object]) {
    const config = { enrollment_date_policy: POLICY, scheduling_mode };
    const site = await Site.open({ consent_mode: 'external', config });
    const { id: study } = site.study;
    const [add, at, body] = source(study);
    const made = await site.http.expect(201, 'POST', add, { ...DAYS, ...body });
    const anchor = `/api/studies/${study}/participants/${site.participant.id}/anchor-date`;
    await site.http.expect(200, 'POST', anchor, { enrollment_date: day(0) });
    const { items } = await site.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${site.participant.id}`);
    const [completed, deleted] = await whileHeld<Answer<Loose>>(
      owner,
      atItsCommit(study),
      () => site.http.post(`/api/visits/${items[0]!.id}/complete`, {}),
      () => site.http.delete(`${at}/${made.id}`),
    );
    return [completed!.status, deleted!.status, deleted!.body?.code];
  }

  it('a window, is in use', async () => {
    const answers = await both('legacy', (study_id) => [
      '/api/schedules/windows',
      '/api/schedules/windows',
      { study_id, code: 'D0', name: 'D0' },
    ]);
    expect(answers).to.deep.equal([200, 409, 'WINDOW_IN_USE']);
  });

  it('an event, is in use', async () => {
    const answers = await both('edc', (study) => [
      `/api/studies/${study}/event-definitions`,
      '/api/event-definitions',
      { event_oid: 'E0', name: 'E0' },
    ]);
    expect(answers).to.deep.equal([200, 409, 'EVENT_IN_USE']);
  });
});

describe('An offline session that is ended by its id while its sync gives it up', () => {
  it('is completed, with its visit, and what its device says is kept as a conflict', async () => {
    const { database_url } = await service();
    const owner = openDatabase({ url: database_url, poolMax: 2, name: 'ended-meanwhile', asOwner: true });
    try {
      const site = await Site.open({ consent_mode: 'external' });
      const visit = await site.visit({}, [-3, 3]);
      const state = (status: string) => site.item('given up', { status, completedAt: null, visitId: visit.id });
      const [made] = (await site.bulk({ sessions: [state('active')] })).results;
      const id = made!.server_id!;
      const [ended, synced] = await whileHeld<unknown>(
        owner,
        ['select 1 from assessment_sessions where id = ? for update', id],
        () => site.end(id),
        () => site.bulk({ sessions: [state('abandoned')] }),
      );
      expect((ended as Answer<Loose>).status).to.equal(200);
      expect((synced as BulkView).results[0]).to.include({ status: 'conflict', conflict_type: 'duplicate_session' });
      expect(await site.see(id)).to.include({ status: 'completed', visit_id: visit.id });
      expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: id });
    } finally {
      await owner.destroy();
    }
  });
});
