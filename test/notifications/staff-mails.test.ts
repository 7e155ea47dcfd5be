import { expect } from 'chai';
import { user } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from '../anchor/stage.js';
import { withApproval } from '../console/stage.js';

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
});
