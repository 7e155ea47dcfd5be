import { expect } from 'chai';
import { user } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from '../anchor/stage.js';
import { withApproval } from '../console/stage.js';
import { whileTheDayLasts } from '../reports/world.js';

interface Caught {
  subject: string;
  text: string;
  html: string;
  to: { address: string }[];
}

describe('Mails to staff', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());
  const mailOf = async (email: string) =>
    (
      (await (await fetch(`${stage.run.mail_ui}/email?to.address=${encodeURIComponent(email)}`)).json()) as Caught[]
    ).find(({ to }) => to.some(({ address }) => address === email));

  it('an approver’s says whose date, from when to when, who asked and why, and which visits move', async () => {
    const study = await stage.study(withApproval);
    const approver = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const asker = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
    const person = await study.person();
    await person.set(DAY);
    const { status, body } = await person.override('2024-03-03', asker, { reason: 'the <form> was misread' });
    expect(status).to.equal(202);
    const mail = await until(() => mailOf(approver.email), { what: 'the mail to the approver' });
    const { participant_code } = await stage.admin.expect<{ participant_code: string }>(
      200,
      'GET',
      `/api/participants/${person.id}`,
    );
    for (const said of [
      participant_code,
      `from ${DAY} to 2024-03-03 (7 days earlier)`,
      'Asked by A coordinator.',
      'Reason: the <form> was misread',
      '2024-04-09 → 2024-04-02',
      `/console/approvals/${body.override_request_id}`,
    ])
      expect(mail.text, said).to.include(said);
    expect(mail.html).to.include('the &lt;form> was misread').and.to.include('2024-04-09 → 2024-04-02');
    // Nothing that people follow ends at an answer for programs.
    expect(mail.text + mail.html).not.to.match(/https?:\/\/[^\s"<]*\/api\//);
  });

  it('an approver’s is in the study’s default language, as the other mails of the study', async () => {
    const study = await stage.study(withApproval);
    const at = `/api/studies/${study.id}`;
    const { config } = await stage.admin.expect<{ config: object }>(200, 'GET', at);
    await stage.admin.expect(200, 'PATCH', at, { config: { ...config, notifications: { default_language: 'de' } } });
    const approver = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const asker = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
    const person = await study.person();
    await person.set(DAY);
    expect((await person.override('2024-03-03', asker, { reason: 'verlesen' })).status).to.equal(202);
    const mail = await until(() => mailOf(approver.email), { what: 'the mail to the approver' });
    expect(mail.subject).to.include('Freigabe nötig: Änderung des Einschlussdatums');
    for (const said of [
      `vom ${DAY} auf den 2024-03-03 verschoben werden (7 Tage früher)`,
      'Beantragt von A coordinator.',
      'Begründung: verlesen',
      'Ohne Entscheidung wird der Antrag am ',
    ])
      expect(mail.text, said).to.include(said);
    expect(mail.html).to.include('lang="de"').and.to.include('Antrag prüfen</a>');
    expect(mail.text + mail.html).not.to.match(/Asked by|Reason:|enrollment date|Without a decision/);
  });

  it('on an account’s security is German where all studies of its user are', async () => {
    const made = await Promise.all([stage.study({}, { days: [] }), stage.study({}, { days: [] })]);
    const [german, english] = made.map(({ id }) => id) as [string, string];
    const at = `/api/studies/${german}`;
    const { config } = await stage.admin.expect<{ config: object }>(200, 'GET', at);
    await stage.admin.expect(200, 'PATCH', at, { config: { ...config, notifications: { default_language: 'de' } } });
    const told = async (study_ids: string[]) => {
      const owner = await user(stage.admin, 'researcher', { study_ids });
      await owner.expect(201, 'POST', '/api/v1/tokens', { name: 'Export', scopes: ['studies:read'], study_ids });
      return until(() => mailOf(owner.email), { what: 'the notice' });
    };
    const notice = await told([german]);
    expect(notice.subject).to.equal('Ein Zugriffstoken wurde angelegt');
    expect(notice.text)
      .to.match(/Zugriffstoken angelegt: „Export“\.\n\nWann: \S+ \S+ UTC\nVon: 127\.0\.0\.1/)
      .and.include('wählen Sie ein neues Passwort')
      .and.not.match(/When|From|If this was you/);
    expect(notice.html).to.include('lang="de"').and.to.include('Anmelden</a>');
    expect((await told([german, english])).subject).to.equal('An access token was created');
  });

  it('a morning’s summary that waited until another day is not sent: that day’s has its visits', async () => {
    await whileTheDayLasts();
    const study = await stage.study({}, { days: [] });
    const { email, userId } = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
    const made = await stage.sql<{ id: string }>(
      `insert into notifications (study_id, user_id, kind, channel, created_at)
       select ?::uuid, ?::uuid, 'daily_summary', 'email', now() - age
         from unnest(array[interval '0', interval '1 day', interval '2 days']) age returning id`,
      [study.id, userId!],
    );
    const [today, ...before] = made.map(({ id }) => id);
    for (const id of [...before, today])
      await stage.sql(`insert into outbox (topic, study_id, subject) values ('notification', ?, ?)`, [study.id, id]);
    const settled = await until(
      async () => {
        const rows = await stage.sql<{ status: string; reason: string | null }>(
          `select status, reason from notifications where study_id = ? order by created_at`,
          [study.id],
        );
        return rows.every(({ status }) => status !== 'pending') ? rows : undefined;
      },
      { what: 'the summaries to be settled' },
    );
    const over = { status: 'cancelled', reason: 'the day of the summary is over' };
    expect(settled).to.deep.equal([over, over, { status: 'sent', reason: null }]);
    expect((await mailOf(email))!.subject).to.include('Daily summary of');
  });
});
