import { expect } from 'chai';
import { ConsoleBrowser, signIn } from '../console/browser.js';
import { until } from '../support/service.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

describe('the mail on a failed sync', function () {
  this.timeout(180_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.set({ polls: false });
    browser = await ConsoleBrowser.start(stage.run.api);
  });
  after(async () => {
    await browser?.close();
    await stage?.clear();
  });

  const mailsTo = (email: string, count: number) =>
    until(
      async () => {
        const mails = (await stage.mailsTo(email)).filter(({ subject }) => /read|gelesen/.test(subject));
        return mails.length >= count ? mails : undefined;
      },
      { what: `${count} mails` },
    );
  /** Notifications of failed syncs of the study, oldest first. */
  const notices = (study: CaptureStudy) =>
    stage.sql<{ user_id: string; status: string }>(
      `select user_id, status from notifications where study_id = ? and kind = 'sync_failed' order by created_at`,
      [study.id],
    );

  it('is sent once until a sync completes, to coordinators and data managers, and leads to the capture page', async () => {
    const study = await stage.study();
    const manager = await stage.user('data_manager', [study.id]);
    const coordinator = await stage.user('coordinator', [study.id]);
    await stage.user('researcher', [study.id]);
    const wrong = { api_token: 'F'.repeat(32) };
    await study.configure(wrong);
    expect((await synced(study)).status).to.equal('failed');
    const [mail] = await mailsTo(manager.email, 1);
    await mailsTo(coordinator.email, 1);
    const page = `/console/capture/${study.id}`;
    expect(mail!.subject).to.match(/could not be read/);
    for (const said of ['Reason: The capture system refused.', 'No sync of the study has been completed yet', page])
      expect(mail!.text, said).to.include(said);
    expect(mail!.text + mail!.html, 'no link ends at an answer for programs').not.to.match(/\/api\/|FFFF/);

    // Failures that follow are the same episode.
    expect((await synced(study)).status).to.equal('failed');
    expect((await notices(study)).map(({ user_id }) => user_id)).to.have.members([manager.id, coordinator.id]);

    const link = /https?:\/\/\S+\/console\/capture\/\S+/.exec(mail!.text)![0];
    const tab = await browser.page();
    await tab.goto(link);
    await signIn(tab, manager.email, manager.password);
    expect(new URL(tab.url()).pathname).to.equal(page);
    expect(await tab.$eval('main', (main) => main.textContent)).to.match(/permission|refused/i);

    await study.configure({ api_token: study.token });
    expect((await synced(study)).status).to.equal('completed');
    await study.configure(wrong);
    expect((await synced(study)).status).to.equal('failed');
    const [, second] = await mailsTo(manager.email, 2);
    expect(second!.text).to.match(/last complete sync ended on \d{4}-\d\d-\d\d/);
    expect(await notices(study)).to.have.length(4);
  });

  it('is written in the study’s default language', async () => {
    const study = await stage.study({ study: { config: { notifications: { default_language: 'de-AT' } } } });
    const manager = await stage.user('data_manager', [study.id]);
    await study.configure({ api_token: 'F'.repeat(32) });
    expect((await synced(study)).status).to.equal('failed');
    const [mail] = await mailsTo(manager.email, 1);
    expect(mail!.subject).to.include('konnte nicht gelesen werden');
    expect(mail!.text).to.include('Grund: Das Datenerfassungssystem hat abgelehnt.');
    expect(mail!.html).to.include('lang="de"').and.to.include('Seite des Datenerfassungssystems öffnen');
  });
});
