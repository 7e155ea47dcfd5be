import { expect } from 'chai';
import { user } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { Site } from '../assessment/stage.js';
import { ConsoleBrowser, axe, openConsole, signIn, textOf } from './browser.js';
import { Visitor, waiting } from './stage.js';

const manual = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };
const noon = (day: string) => `${day}T12:00:00Z`;

describe('the tabs of a participant in the console', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await stage?.close();
  });

  const coordinatorOf = async (study: AnchorStudy) => user(stage.admin, 'coordinator', { study_ids: [study.id] });
  const visitorOf = async (study: AnchorStudy) => Visitor.of(stage.run.api, (await coordinatorOf(study)).email);

  it('the timeline has a planned or missed visit on its day, wherever the participant is', async () => {
    const ahead = new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10);
    for (const [timezone, own] of [
      ['UTC', 'America/Los_Angeles'],
      ['Pacific/Auckland', 'America/Los_Angeles'],
      ['America/Los_Angeles', 'Pacific/Auckland'],
    ] as const) {
      const study = await stage.study(manual, { days: [0], fields: { timezone } });
      const person = await study.person({ timezone: own });
      await person.set(DAY);
      await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: person.id,
        name: 'Extra',
        target_date: ahead,
        window_open: ahead,
        window_close: ahead,
      });
      const visitor = await visitorOf(study);
      const { text } = await visitor.get(`/console/participants/${person.id}?tab=timeline`);
      // The row of the visit that is to come, then of the one whose window closed on 13 March.
      for (const [name, day] of [
        ['due, window', ahead],
        ['missed (window closed', '2024-03-14'],
      ] as const) {
        const row = [...text.matchAll(/<tr[^>]*>.*?<\/tr>/gs)].map(([one]) => one).find((one) => one.includes(name));
        expect(/<time datetime="([^"]*)"/i.exec(row ?? '')?.[1], `${name} in ${timezone} for ${own}`).to.equal(day);
      }
    }
  });

  it('the schedule and the messages lead to each visit, also to one that is not due today', async () => {
    const planned = { config: { enrollment_date_policy: manual, notifications: { channels: ['email'] } } };
    const study = await stage.study(manual, { days: [400], fields: planned });
    const person = await study.person({ email: 'somebody@example.org' });
    await person.set(new Date().toISOString().slice(0, 10));
    const [visit] = await person.visits();
    const visitor = await visitorOf(study);
    const link = `<a href="/console/visits/${visit!.id}"><bdi>${visit!.name as string}</bdi></a>`;
    expect((await visitor.get(`/console/participants/${person.id}?tab=schedule`)).text).to.include(link);
    await until(
      async () => (await visitor.get(`/console/participants/${person.id}?tab=messages`)).text.includes(link),
      { what: 'the reminder to be planned' },
    );
    expect((await visitor.get(`/console/visits/${visit!.id}`)).text).to.include('name="target_date"');
  });

  it('the audit log has what was recorded of the participant’s consents, eligibility, visits and forms too', async () => {
    const study = await stage.study(manual);
    const [person, other] = [await study.person(), await study.person()];
    for (const one of [person, other]) await one.set(DAY);
    await person.consent(noon('2024-03-01'));
    await person.eligible(noon('2024-03-02'));
    await stage.admin.expect(201, 'POST', `${person.path}/forms`, { form_oid: 'F' });
    const [visit] = await person.visits();
    await stage.admin.expect(200, 'POST', `/api/visits/${visit!.id}/complete`, {});
    await other.consent(noon('2024-03-03'));
    const admin = await Visitor.of(stage.run.api, stage.run.admin_email, stage.run.admin_password ?? '');
    const { text } = await admin.get(`/console/participants/${person.id}?tab=audit`);
    const told = [...text.matchAll(/<span title="(\w+)">/g)].map(([, action]) => action);
    expect(told).to.include.members([
      'participant_created',
      'consent_signed',
      'eligibility_confirmed',
      'form_created',
      'visit_completed',
    ]);
    expect(told.filter((action) => action === 'consent_signed')).to.have.length(1);
    expect(told.indexOf('visit_completed')).to.be.lessThan(told.indexOf('participant_created'));
    expect(text).to.include(`${told.length} records, newest first`);
  });

  it('results have names in the reader’s language, and times their unit', async () => {
    const site = await Site.open();
    const id = await site.session();
    await site.submit(id, {
      task_summaries: {
        trail_making: { completion_time: 45_230.5, errors: 2 },
        stroop: { accuracy: 0.875, mean_rt: 512.25, own_measure: 3 },
      },
    });
    await site.end(id);
    const { email } = await user(stage.admin, 'coordinator', { study_ids: [site.study.id] });
    for (const [language, said] of [
      ['en', ['Trail making', 'Time taken 45,230.5 ms', 'Reaction time, mean 512.25 ms', 'Correct 87.5%']],
      ['de', ['Linien ziehen', 'Benötigte Zeit 45.230,5 ms', 'Reaktionszeit, Mittel 512,25 ms', 'Fehler 2']],
    ] as const) {
      const { page } = await openConsole(browser, `/console/participants/${site.participant.id}?tab=sessions`, {
        language,
      });
      await signIn(page, email);
      const text = await textOf(page, 'main');
      for (const words of [...said, 'own measure 3']) expect(text).to.include(words);
    }
  });

  it('the date that waits for an approval is named', async () => {
    const of = await waiting(stage);
    const visitor = await Visitor.of(stage.run.api, of.asker.email);
    const { text } = await visitor.get(`/console/participants/${of.person.id}?tab=date`);
    expect(text).to.include('Another date waits for an approval: 17 Mar 2024');
  });

  it('each field of the forms for the date is named by its own label', async () => {
    const study = await stage.study(
      {
        ...manual,
        prerequisites: { require_consent_signed: true },
        permissions: { can_set: ['admin', 'coordinator'], can_override: ['coordinator'] },
      },
      { fields: { consent_mode: 'econsent' } },
    );
    const person = await study.person();
    await person.set(DAY);
    const { page } = await openConsole(browser, `/console/participants/${person.id}?tab=date`, {
      as: (await coordinatorOf(study)).email,
    });
    const unnamed = async () => {
      await page.evaluate(`document.querySelectorAll('main details').forEach((one) => { one.open = true; })`);
      return page.evaluate(
        `[...document.querySelectorAll('main :is(input:not([type=hidden]), textarea)')]
          .filter(({ labels }) => labels.length !== 1).map(({ form, name }) => form.querySelector('[name=action]').value + ': ' + name)`,
      );
    };
    for (const forms of [
      ['set', 'cancel'],
      ['preview', 'override_back'],
    ]) {
      for (const form of forms) expect(await page.$(`[name=action][value=${form}]`), form).not.to.equal(null);
      expect(await unnamed()).to.deep.equal([]);
      expect(await axe(page)).to.deep.equal([]);
      if (forms.includes('preview')) break;
      await person.consent(noon('2024-03-01'));
      await person.becomes({ status: 'finalized' });
      await page.reload();
    }
  });
});
