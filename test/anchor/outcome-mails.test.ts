import { expect } from 'chai';
import { user } from '../support/http.js';
import type { Http } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

interface Mail {
  to: { address: string }[];
  subject: string;
  text: string;
  html: string;
}
type Asker = Http & { email: string };

const policy = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_override: ['coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};
const WANTED = '2024-03-17';
/** Ids, what tests make unique, and ports. */
const RANDOM = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b\w+-[0-9a-f]{8}\b|:\d{2,5}(?=\/)/g;
const SECRET = { phone: '+49 30 555666', date_of_birth: '1950-01-02' };

describe('the mail to who asked for an override', function () {
  let stage: Stage;
  let study: AnchorStudy;
  let approver: Http & { name?: string };
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(policy);
    approver = await study.as('researcher');
  });
  after(() => stage.close());

  const asker = async (of = study) => (await user(stage.admin, 'coordinator', { study_ids: [of.id] })) as Asker;
  const asked = async (by: Asker, of = study): Promise<{ person: Person; request: string }> => {
    const person = await of.person({ ...SECRET, email: `${crypto.randomUUID()}@secret.example.org` });
    await person.set(DAY);
    const { status, body } = await person.override(WANTED, by);
    expect(status).to.equal(202);
    return { person, request: body.override_request_id };
  };
  const mailsTo = async (address: string): Promise<Mail[]> => {
    const found = await fetch(`${stage.run.mail_ui}/email?to.address=${encodeURIComponent(address)}`);
    return ((await found.json()) as Mail[]).filter((mail) => mail.to.some((to) => to.address === address));
  };
  const mailTo = (address: string) =>
    until(async () => (await mailsTo(address))[0], { what: 'the mail on the outcome' });
  const notices = (requestId: string) =>
    stage.sql<{ user_id: string }>(
      `select user_id from notifications where subject_id = ? and kind = 'override_decided'`,
      [requestId],
    );

  it('says that it was approved, by whom and why, and leads to the participant', async () => {
    const by = await asker();
    const { person, request } = await asked(by);
    expect((await person.decide(request, 'approve', approver, { reason: 'the form shows it' })).status).to.equal(200);
    const mail = await mailTo(by.email);
    expect(mail.subject).to.match(/Approved: enrollment date change/);
    for (const said of [DAY, WANTED, 'the form was misread', 'the form shows it', '2024-03-17'])
      expect(mail.text).to.contain(said);
    expect(mail.text).to.contain(`/console/approvals/${request}`);
    expect(mail.html).to.contain('<a href').and.to.contain('lang="en"');
    // What is random may have the digits of a year.
    expect(`${mail.text}${mail.html}`.replaceAll(RANDOM, '…')).not.to.match(/secret|555666|1950/);
    expect(await notices(request)).to.have.length(1);
    const page = await fetch(/https?:\/\/\S+/.exec(mail.text)![0], { redirect: 'manual' });
    expect(page.headers.get('content-type') ?? 'text/html', 'a page, not JSON').to.contain('text/html');
  });

  it('says that it was denied, with the approver’s reason, in the language of a German study', async () => {
    const german = await stage.study(policy, {
      fields: { config: { enrollment_date_policy: policy, notifications: { default_language: 'de-AT' } } },
    });
    const by = await asker(german);
    const { person, request } = await asked(by, german);
    await person.decide(request, 'deny', await german.as('researcher'), { reason: 'no source shows it' });
    const mail = await mailTo(by.email);
    expect(mail.subject).to.contain('Abgelehnt: Änderung des Einschlussdatums');
    expect(mail.text).to.contain('no source shows it').and.to.contain('Es bleibt beim');
    expect(mail.html).to.contain('lang="de"');
  });

  it('says that nobody decided it in time, and that the participant withdrew', async () => {
    const by = await asker();
    const { person } = await asked(by);
    await person.withdraw();
    expect((await mailTo(by.email)).text).to.contain('when the participant withdrew');

    const quick = await stage.study({ ...policy, override_approval_timeout_hours: 3 / 3600 });
    const late = await asker(quick);
    await asked(late, quick);
    const mail = await mailTo(late.email);
    expect(mail.subject).to.match(/Expired: enrollment date change/);
    expect(mail.text).to.contain('Nobody decided');
  });

  it('an approver’s mail that was held up is not sent after the decision', async () => {
    const { person, request } = await asked(await asker());
    expect((await person.decide(request, 'approve', approver)).status).to.equal(200);
    const held = () =>
      stage.sql<{ id: string; status: string; reason: string | null }>(
        `select id, status, reason from notifications where subject_id = ? and kind = 'override_pending'`,
        [request],
      );
    await until(async () => (await held()).every(({ status }) => status !== 'pending'), { what: 'the first mail' });
    const { id } = (await held())[0]!;
    await stage.sql(`update notifications set status = 'pending', sent_at = null, reason = null where id = ?`, [id]);
    await stage.sql(`insert into outbox (topic, study_id, subject) values ('notification', ?, ?)`, [study.id, id]);
    await until(async () => (await held())[0]!.status !== 'pending', { what: 'the mail to be judged' });
    expect((await held())[0]).to.include({ status: 'cancelled', reason: 'the request has been decided already' });
  });

  it('goes to nobody who has left the study, nor to an account that is not active', async () => {
    const [left, off] = [await asker(), await asker()];
    for (const by of [left, off]) {
      const { person, request } = await asked(by);
      if (by === left)
        await stage.sql('delete from user_studies where user_id = ? and study_id = ?', [by.userId!, study.id]);
      else await stage.sql(`update users set status = 'inactive' where id = ?`, [by.userId!]);
      expect((await person.decide(request, 'approve', approver)).status).to.equal(200);
      expect(await notices(request)).to.deep.equal([]);
    }
  });
});
