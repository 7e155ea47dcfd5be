import { expect } from 'chai';
import { unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from '../anchor/stage.js';
import { withApproval } from '../console/stage.js';
import type { NotificationView } from './stage.js';

describe('A mail to staff that is sent when its reader may not see the participant any more', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('is cancelled: it has the participant’s code and what was written of it', async () => {
    const study = await stage.study(withApproval);
    const [here, elsewhere] = (await Promise.all(
      ['H', 'E'].map((code) =>
        stage.admin.expect<Loose>(201, 'POST', `/api/studies/${study.id}/sites`, {
          site_code: unique(code),
          name: 'A clinic',
          timezone: 'UTC',
        }),
      ),
    )) as [Loose, Loose];
    const approver = (name: string) => user(stage.admin, 'researcher', { study_ids: [study.id], name });
    const [stays, leaves, ends] = await Promise.all(['stays', 'leaves', 'ends'].map(approver));
    const moves = await user(stage.admin, 'coordinator', { study_ids: [study.id], site_ids: [here.id] });
    const person = await study.person({ site_id: here.id });
    await person.set(DAY);
    const asked = await person.override('2024-03-17', moves, { reason: 'misread' });
    expect(asked.status).to.equal(202);
    const mails = async () =>
      (
        await stage.admin.expect<{ items: (NotificationView & { user_id: string })[] }>(
          200,
          'GET',
          `/api/notifications?participant_id=${person.id}&limit=500`,
        )
      ).items.filter(({ kind }) => kind.startsWith('override_'));
    const settled = (of: string) =>
      until(
        async () => {
          const found = (await mails()).find(({ id }) => id === of);
          return found?.status === 'pending' ? undefined : found;
        },
        { what: 'the mail to be settled' },
      );
    const sentTo = async (userId: string | undefined, kind: string) => {
      const row = await until(
        async () =>
          (
            await stage.sql<{ id: string }>(
              `select id from notifications
                where user_id = ? and kind = ? and participant_id = ? and resend_of is null`,
              [userId!, kind, person.id],
            )
          )[0],
        { what: `a mail ${kind}` },
      );
      expect((await settled(row.id)).status).to.equal('sent');
      return row.id;
    };
    const again = async (id: string) => {
      const { id: made } = await stage.admin.expect<Loose>(202, 'POST', `/api/notifications/${id}/resend`);
      const { status, reason } = await settled(made);
      return { status, reason };
    };
    const change = (who: { userId?: string | undefined }, to: object) =>
      stage.admin.expect(200, 'PATCH', `/api/users/${who.userId!}`, to);

    const first = await Promise.all([stays!, leaves!, ends!].map(({ userId }) => sentTo(userId, 'override_pending')));
    await change(leaves!, { study_ids: [] });
    await change(ends!, { status: 'inactive' });
    const over = { status: 'cancelled', reason: 'the recipient may not see the participant any more' };
    const sent = { status: 'sent', reason: null };
    expect(await Promise.all(first.map(again))).to.deep.equal([sent, over, over]);

    const decided = await person.decide(asked.body.override_request_id, 'approve', stays!, { reason: 'right' });
    expect(decided.status, decided.text).to.equal(200);
    const outcome = await sentTo(moves.userId, 'override_decided');
    expect(await again(outcome)).to.deep.equal(sent);
    await change(moves, { site_ids: [elsewhere.id] });
    expect(await again(outcome)).to.deep.equal(over);
  });
});
