import { expect } from 'chai';
import { anchorState } from '../../workflows/contract.js';
import { newParticipant, newStudy, unique, user } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { ConsoleBrowser, axe, openConsole, setValue, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn, withApproval } from './stage.js';

const provisional = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: true } };

describe('the console’s page of a participant', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await stage.close();
  });

  const at = (person: Person, tab = '') => `/console/participants/${person.id}${tab && `?tab=${tab}`}`;
  const staff = async (study: AnchorStudy, role: 'coordinator' | 'researcher' | 'data_manager' | 'investigator') =>
    (await study.as(role)) as Awaited<ReturnType<AnchorStudy['as']>> & { email: string };
  const visitor = async ({ email }: { email: string }) => {
    return Visitor.of(stage.run.api, email);
  };

  it('says what it waits for, and takes a date and a consent until the date is final', async () => {
    const study = await stage.study(provisional, { fields: { consent_mode: 'econsent' } });
    const person = await study.person();
    const { page, faults } = await openConsole(browser, at(person, 'date'), {
      as: (await staff(study, 'coordinator')).email,
    });
    expect(await textOf(page, '.notice')).to.match(/^Waits for an enrollment date and a signed consent since /);
    expect(await axe(page)).to.deep.equal([]);
    await setValue(page, '[name=date]', DAY);
    await submit(page, '.job[open] button.primary');
    expect(await textOf(page, 'main'))
      .to.include('The date is recorded')
      .and.to.include('Provisional');
    expect(await person.anchor()).to.include({ enrollment_date: DAY, status: 'provisional' });
    expect(await textOf(page, '.explanation'))
      .to.include('Entered by hand')
      .and.to.include('Gives the date')
      .and.to.include('Missing');
    await page.goto(`${browser.base}${at(person, 'facts')}`);
    await setValue(page, '[name=signed_on]', '2024-03-01');
    await submit(page, '.job[open] button.primary');
    expect(await textOf(page, 'main')).to.include('The consent is recorded');
    expect(await axe(page)).to.deep.equal([]);
    await person.becomes({ status: 'finalized' });
    for (const tab of ['timeline', 'schedule', 'date', 'facts', 'sessions', 'messages']) {
      await page.goto(`${browser.base}${at(person, tab)}`);
      expect(await textOf(page, '.tabs [aria-current]')).not.to.equal('');
    }
    await page.goto(`${browser.base}${at(person)}`);
    expect(await textOf(page, 'main'))
      .to.include('Waits for nothing')
      .and.to.include('final');
    expect(faults).to.deep.equal([]);
  });

  it('takes the day of a consent as the date, whichever zone the policy makes dates in', async () => {
    const zoneOfSite = { timezone_policy: 'site_local' };
    for (const [timezone, time_precision, own] of [
      ['Europe/Berlin', { timezone_policy: 'utc' }],
      ['America/Los_Angeles', { timezone_policy: 'utc' }],
      ['Europe/Berlin', { timezone_policy: 'study_timezone', study_timezone: 'America/Los_Angeles' }],
      ['Pacific/Auckland', { timezone_policy: 'utc' }],
      ['Europe/Berlin', zoneOfSite, 'America/Los_Angeles'],
      ['America/Los_Angeles', zoneOfSite, 'Pacific/Auckland'],
    ] as const) {
      const study = await stage.study({ time_precision }, { fields: { consent_mode: 'econsent', timezone } });
      const person = await study.person(own ? { timezone: own } : {});
      const coordinator = await visitor(await staff(study, 'coordinator'));
      const { status } = await coordinator.post(at(person, 'facts'), `${at(person)}/consents`, { signed_on: DAY });
      expect(status).to.equal(303);
      const { enrollment_date } = await person.becomes({ status: 'finalized' });
      const why = `${timezone} ${JSON.stringify(time_precision)} ${own ?? ''}`;
      expect(enrollment_date, why).to.equal(DAY);
      const { items } = await stage.admin.expect(200, 'GET', `${person.path}/consents`);
      const signed = new Date(String(items[0]!.signed_at));
      const there = new Intl.DateTimeFormat('en-CA', { timeZone: own ?? timezone }).format(signed);
      expect(there, `as its page shows it: ${why}`).to.equal(DAY);
    }
  });

  it('asks for an override only after its preview, without JavaScript, in German', async () => {
    const study = await stage.study(withApproval);
    const person = await study.person();
    await person.set(DAY);
    const { page } = await openConsole(browser, at(person, 'date'), {
      javascript: false,
      language: 'de',
      as: (await staff(study, 'coordinator')).email,
    });
    await page.click('.job summary');
    await setValue(page, '.job[open] [name=date]', '2024-03-17');
    await page.type('.job[open] [name=reason]', 'falsch gelesen');
    await submit(page, '.job[open] button.primary');
    expect(await textOf(page, '.preview'))
      .to.include('Noch hat sich nichts geändert')
      .and.to.include('17.03.2024')
      .and.to.include('Verschieben');
    expect(await person.anchor()).to.include({ enrollment_date: DAY });
    expect((await person.history()).some(({ event_type }) => event_type === 'OVERRIDE_REQUESTED')).to.equal(false);
    await submit(page, '.preview button.primary');
    expect(await textOf(page, 'main'))
      .to.include('Der Antrag ist gesendet')
      .and.to.include('Wartet auf die Freigabe')
      .and.to.include('falsch gelesen');
    const [newest] = await person.history();
    expect(newest).to.include({ event_type: 'OVERRIDE_REQUESTED', reason: 'falsch gelesen' });
  });

  it('sends one message where a form is sent twice, keeps what was typed, and shows a new preview', async () => {
    const study = await stage.study({
      ...withApproval,
      permissions: { can_set: ['coordinator'], can_override: ['coordinator'], override_requires_approval: false },
    });
    const person = await study.person();
    const coordinator = await visitor(await staff(study, 'coordinator'));
    const form = async (fields: Record<string, string>, html?: string) => {
      const text = html ?? (await coordinator.get(at(person, 'date'))).text;
      const hidden = Object.fromEntries(['_version', '_once'].map((name) => [name, hiddenIn(text, name)]));
      return { _token: tokenIn(text), _back: at(person, 'date'), ...hidden, ...fields };
    };
    const post = (fields: Record<string, string>) => coordinator.send('POST', `${at(person)}/date`, fields);
    const ahead = await post(await form({ action: 'set', date: '2999-01-01', reason: 'my words' }));
    expect(ahead.status).to.equal(400);
    expect(ahead.text)
      .to.include('The date lies in the future.')
      .and.to.include('my words')
      .and.to.include('2999-01-01');
    expect((await post(await form({ action: 'set', date: 'soon' }))).text).to.include('Give a date as year-month-day');
    const once = await form({ action: 'set', date: DAY });
    for (const answer of [await post(once), await post(once)]) expect(answer.status).to.equal(303);
    expect((await person.history()).filter(({ event_type }) => event_type === 'SET')).to.have.length(1);
    const stale = await post({ ...once, _once: 'another', date: '2024-03-11' });
    expect(stale.status).to.equal(409);
    expect(stale.text).to.include('2024-03-11');
    const preview = await post(
      await form({ action: 'preview', date: '2024-03-17', reason: 'misread', regenerate: '1' }),
    );
    expect(preview.text).to.include('nothing has changed yet');
    const confirm = await form(
      {
        action: 'override',
        date: '2024-03-17',
        reason: 'misread',
        regenerate: '1',
        preview_hash: hiddenIn(preview.text, 'preview_hash'),
      },
      preview.text,
    );
    await study.window(60);
    await until(async () => ((await person.standing()).length === 3 ? true : undefined), { what: 'the new window' });
    const changed = await post({
      ...confirm,
      _version: hiddenIn((await coordinator.get(at(person, 'date'))).text, '_version'),
    });
    expect(changed.status).to.equal(409);
    expect(changed.text).to.include('This is the new preview').and.to.include('Day 60');
    const again = await form(
      { ...confirm, _once: hiddenIn(changed.text, '_once'), preview_hash: hiddenIn(changed.text, 'preview_hash') },
      changed.text,
    );
    expect((await post(again)).headers.get('location')).to.include('done=overridden');
    expect(await person.anchor()).to.include({ enrollment_date: '2024-03-17', is_override: true });
    const versions = await coordinator.get(`${at(person, 'schedule')}&from=1&to=2`);
    expect(versions.text)
      .to.include('From version 1 to version 2')
      .and.to.match(/Moved|New/);
    expect((await post(await form({ action: 'override_back', reason: 'it was right' }))).status).to.equal(303);
    expect(await person.anchor()).to.include({ enrollment_date: DAY });
    const { text } = await coordinator.get(at(person, 'date'));
    expect(text).to.include('a new evaluation of the date');
    const evaluated = await coordinator.send('POST', `${at(person)}/evaluate`, await form({}, text));
    expect(evaluated.status).to.equal(303);
    await person.becomes({ status: 'finalized' });
  });

  it('overrides a date, shows what moved between two versions, and goes back to the sources', async () => {
    const study = await stage.study({
      ...withApproval,
      permissions: {
        can_set: ['admin', 'coordinator'],
        can_override: ['coordinator'],
        override_requires_approval: false,
      },
    });
    const person = await study.person();
    await person.set(DAY);
    await person.becomes({ status: 'finalized' });
    const { page, faults } = await openConsole(browser, at(person, 'date'), {
      as: (await staff(study, 'coordinator')).email,
    });
    await page.evaluate(
      `[...document.querySelectorAll('.job')].forEach((job) => { job.open = !!job.querySelector('[value=preview]'); })`,
    );
    await setValue(page, '.job[open] [name=date]', '2024-03-17');
    await page.type('.job[open] [name=reason]', 'misread');
    await submit(page, '.job[open] button.primary');
    await submit(page, '.preview button.primary');
    expect(await person.anchor()).to.include({ enrollment_date: '2024-03-17', is_override: true });
    await submit(page, '.tabs a[href$="tab=schedule"]');
    await page.select('[name=from]', '1');
    await page.select('[name=to]', '2');
    await submit(page, 'form.inline button');
    expect(await textOf(page, '.tab'))
      .to.include('From version 1 to version 2')
      .and.to.include('Moved')
      .and.to.include('9 Apr 2024')
      .and.to.include('16 Apr 2024');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, '.tabs a[href$="tab=date"]');
    await page.evaluate(
      `[...document.querySelectorAll('.job')].forEach((job) => { job.open = !!job.querySelector('button.danger'); })`,
    );
    await page.type('.job[open] [name=reason]', 'it was right');
    await submit(page, '.job[open] button.danger');
    expect(await person.anchor()).to.include({ enrollment_date: DAY });
    expect(faults).to.deep.equal([]);
  });

  it('cancels a proposal, and records an eligibility that is not stale', async () => {
    const study = await stage.study(provisional, { fields: { consent_mode: 'econsent' } });
    const person = await study.person();
    await person.set(DAY);
    const coordinator = await visitor(await staff(study, 'coordinator'));
    const cancel = await coordinator.post(at(person, 'date'), `${at(person)}/date`, { action: 'cancel', _once: 'x' });
    expect(cancel.headers.get('location')).to.include('done=cancelled');
    expect(await person.anchor()).to.include({ status: 'unset' });
    const investigator = await visitor(await staff(study, 'investigator'));
    const before = (await investigator.get(at(person, 'facts'))).text;
    const send = (status: string) =>
      investigator.send('POST', `${at(person)}/eligibility`, {
        _token: tokenIn(before),
        _back: at(person, 'facts'),
        _seen: hiddenIn(before, '_seen'),
        status,
      });
    expect((await send('eligible')).status).to.equal(303);
    expect((await send('ineligible')).status).to.equal(409);
    expect((await investigator.get(at(person, 'facts'))).text).to.include('Eligible');
  });

  it('names the day of a consent that cannot be at its field, in the reader’s language', async () => {
    const study = await stage.study(provisional, { fields: { consent_mode: 'econsent' } });
    const person = await study.person();
    const coordinator = await visitor(await staff(study, 'coordinator'));
    const before = (await coordinator.get(at(person, 'facts'))).text;
    for (const [day, said] of [
      ['1024-03-01', 'Das liegt außerhalb des Möglichen.'],
      ['1.3.2024', 'Nennen Sie ein Datum als Jahr-Monat-Tag'],
    ] as const) {
      const { status, text } = await coordinator.send(
        'POST',
        `${at(person)}/consents`,
        { _token: tokenIn(before), _back: at(person, 'facts'), signed_on: day },
        { 'accept-language': 'de' },
      );
      expect(status, day).to.equal(400);
      expect(text, day).to.match(/name="signed_on"[^>]*aria-invalid/);
      expect(/id="field-signed_on-error">([^<]*)</.exec(text)![1], day).to.match(new RegExp(`^${said}`));
    }
  });

  it('says of a consent that is kept elsewhere that it is not recorded here, not that it is signed', async () => {
    for (const [consent_mode, said] of [
      ['external', 'Not recorded here: counts as met'],
      ['econsent', 'Missing'],
    ] as const) {
      const study = await newStudy(stage.admin, { consent_mode });
      const person = await newParticipant(stage.admin, study.id);
      const set = await stage.admin.post(`/api/studies/${study.id}/participants/${person.id}/anchor-date`, {
        enrollment_date: '2024-03-04',
        reason: 'first visit',
      });
      expect(set.status, set.text).to.be.lessThan(300);
      const { email } = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
      const { text } = await (await Visitor.of(browser.base, email)).get(`/console/participants/${person.id}?tab=date`);
      const row = /<tr[^>]*><th[^>]*><bdi>Consent is signed<\/bdi><\/th>(.*?)<\/tr>/s.exec(text)?.[1];
      expect(row, consent_mode).to.include(said).and.not.match(/>Met</);
    }
  });

  it('waits for what its workflow says, and shows results with their flags and why a message is planned', async () => {
    const study = await stage.study(
      {
        ...provisional,
        prerequisites: {
          require_consent_signed: true,
          require_eligibility_confirmed: true,
          require_randomization: true,
        },
      },
      { days: [400], fields: { consent_mode: 'econsent' } },
    );
    const person = await study.person({ email: 'somebody@example.org' });
    const coordinator = await visitor(await staff(study, 'coordinator'));
    const words: Record<string, string> = {
      consent: 'a signed consent',
      eligibility: 'a confirmed eligibility',
      randomization: 'the randomization',
    };
    await person.set(DAY);
    for (const step of [() => person.consent('2024-03-01T10:00:00Z'), () => person.eligible('2024-03-02T10:00:00Z')]) {
      await step();
      await person.settled();
      const state = await stage.handle(person.id).query(anchorState);
      const { text } = await coordinator.get(at(person));
      for (const [name, said] of Object.entries(words))
        expect(text.includes(said), `${name} in ${state!.waiting_for.join()}`).to.equal(
          state!.waiting_for.includes(name),
        );
    }
    const started = Date.now() - 3_600_000;
    await stage.admin.expect(200, 'POST', '/api/sync/bulk', {
      sessions: [
        {
          id: 's',
          participantId: person.id,
          studyId: study.id,
          status: 'completed',
          startedAt: new Date(started).toISOString(),
          completedAt: new Date(started - 3_600_000).toISOString(),
          syncStatus: 'pending',
          syncAttempts: 0,
        },
      ],
      responses: [],
    });
    const sessions = (await coordinator.get(at(person, 'sessions'))).text;
    expect(sessions).to.include('clock set back').and.to.include('offline');
    const later = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const planned = await stage.study(withApproval, {
      days: [30],
      fields: {
        config: { enrollment_date_policy: withApproval, notifications: { channels: ['email'], days_before: [1] } },
      },
    });
    const reminded = await planned.person({ email: 'somebody@example.org' });
    await reminded.set(later);
    const by = await visitor(await staff(planned, 'coordinator'));
    const messages = await until(
      async () => {
        const { text } = await by.get(at(reminded, 'messages'));
        return text.includes('Reminder of a visit') ? text : undefined;
      },
      { what: 'the reminder to be planned' },
    );
    expect(messages).to.include('Day 30').and.to.include('1 day before the target date');
  });

  it('shows each role what is its own, and escapes what others fill in', async () => {
    const study = await stage.study(withApproval);
    const nasty = '<script>alert(1)</script>';
    const person = await study.person({ participant_code: `${unique('P')}"><img src=x>`, external_id: nasty });
    await person.set(DAY);
    await person.consent('2024-03-01T10:00:00Z', { consent_version_id: nasty, purpose: nasty });
    await person.override('2024-03-17', await study.as('coordinator'), { reason: nasty });
    const admin = await Visitor.of(stage.run.api, stage.run.admin_email, stage.run.admin_password ?? '');
    for (const tab of ['timeline', 'schedule', 'date', 'facts', 'sessions', 'messages', 'audit']) {
      const { status, text, headers } = await admin.get(at(person, tab));
      expect(status, tab).to.equal(200);
      expect(text).not.to.include('<script>alert').and.not.to.include('<img src=x');
      expect(Buffer.byteLength(text)).to.be.lessThan(100_000);
      expect(headers.get('cache-control')).to.equal('no-store');
    }
    const manager = await visitor(await staff(study, 'data_manager'));
    const seen = (await manager.get(at(person, 'date'))).text;
    expect(seen).not.to.include('name="action"').and.not.to.include('tab=audit');
    expect((await manager.get(at(person, 'audit'))).status).to.equal(403);
    const refused = await manager.post(at(person, 'date'), `${at(person)}/date`, {
      action: 'override_back',
      reason: 'x',
    });
    expect(refused.status).to.be.oneOf([403, 409]);
    const other = await stage.study(withApproval);
    const foreign = await visitor(await staff(other, 'coordinator'));
    expect((await foreign.get(at(person))).status).to.equal(404);
    expect((await foreign.post('/console/inbox', `${at(person)}/date`, { action: 'cancel' })).status).to.equal(404);
  });
});
