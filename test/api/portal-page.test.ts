import { expect } from 'chai';
import pg from 'pg';
import type { Browser, HTTPRequest, Page } from 'puppeteer-core';
import { Http, unique } from '../support/http.js';
import { PushBrowser } from '../support/push-sink.js';
import { until } from '../support/until.js';
import type { Loose } from '../support/http.js';
import { mailsTo, sendCaregiverLink, sendLink, tokenIn } from '../support/portal.js';
import { launchBrowser } from '../support/browser.js';
import { service } from '../support/service.js';
import type { RunJson } from '../support/service.js';
import { Site, trials } from '../assessment/stage.js';

/** A small phone. */
const PHONE = { width: 360, height: 640, isMobile: true, hasTouch: true };

describe('the participant’s page, in a browser', function () {
  this.timeout(180_000);
  let run: RunJson;
  let site: Site;
  let browser: Browser;
  before(async () => {
    run = await service();
    site = await Site.open();
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  const participant = (language: string): Promise<Loose> =>
    site.newParticipant({ email: `${unique('p')}@example.org`, preferred_language: language });
  const open = async (path: string): Promise<{ page: Page; outside: string[]; faults: string[] }> => {
    const page = await (await browser.createBrowserContext()).newPage();
    page.setDefaultTimeout(60_000);
    const outside: string[] = [];
    const faults: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(run.api)) outside.push(request.url());
    });
    page.on('pageerror', (fault) => faults.push(String(fault)));
    await page.setViewport(PHONE);
    await page.goto(`${run.api}${path}`);
    return { page, outside, faults };
  };
  const words = (page: Page, selector = 'main') =>
    page.$eval(selector, (element) => (element as unknown as { innerText: string }).innerText);
  /** Looked for at intervals: a browser on a busy machine draws no frames for as long as it likes. */
  const reads = async (page: Page, text: string): Promise<void> => {
    await until(
      async () => {
        const said = await words(page, 'body');
        if (!said.includes(text)) throw new Error(said);
        return true;
      },
      { timeout: 60_000, what: `the page to say ${text}` },
    );
  };

  it('opens by the button, shows the next visit, keeps a preference, and closes', async () => {
    const ida = await participant('de-AT');
    await site.visit({ participant_id: ida.id, name: 'Woche 4' });
    await site.visit({ participant_id: ida.id, name: 'Woche 8' }, [20, 24]);
    await site.visit({ participant_id: ida.id, name: `Nachuntersuchung${'s'.repeat(150)}termin` }, [30, 34]);
    const { page, outside, faults } = await open(`/portal?token=${await sendLink(site.http, ida.id)}`);
    expect(page.url()).to.equal(`${run.api}/portal`);
    await page.click('#enter');
    await reads(page, 'Nächster Termin');
    expect(await words(page, '#next')).to.match(/^Woche 4\s+Jetzt möglich, bis /);
    expect(await words(page, '#visits'))
      .to.include('Woche 8')
      .and.to.include('geplant');
    // On paper are the visits, and nothing to press.
    await page.emulateMediaType('print');
    expect(await words(page))
      .to.include('Woche 8')
      .and.include('Fragen?')
      .and.not.match(/Abmelden|Per E-Mail|Kalender/);
    await page.emulateMediaType('screen');
    // A study without a capture system passes nothing on.
    expect(await words(page)).not.to.include('Ihre Daten');
    expect(await page.$eval('html', (html) => (html as unknown as { lang: string }).lang)).to.equal('de');
    // Nothing reaches over the edge of a phone.
    expect(await page.$eval('html', (html) => (html as unknown as { scrollWidth: number }).scrollWidth)).to.be.at.most(
      PHONE.width,
    );
    await page.click('input[name=email]');
    await reads(page, 'Gespeichert.');
    await page.reload();
    await reads(page, 'Woche 4');
    expect(await page.$eval('input[name=email]', (box) => (box as unknown as { checked: boolean }).checked)).to.equal(
      false,
    );
    await page.click('#leave');
    await reads(page, 'Sie sind abgemeldet.');
    await page.reload();
    await page.waitForFunction(
      () =>
        (
          globalThis as unknown as { document: { getElementById: (id: string) => { textContent: string } } }
        ).document.getElementById('said').textContent !== '',
      { polling: 250, timeout: 60_000 },
    );
    expect(await words(page)).not.to.include('Woche');
    expect([outside, faults]).to.deep.equal([[], []]);
  });

  it('is in the study’s default language, as its mails, for whom no other is known', async () => {
    const german = await Site.open();
    const at = `/api/studies/${german.study.id}`;
    const { config } = await german.http.expect<{ config: object }>(200, 'GET', at);
    await german.http.expect(200, 'PATCH', at, {
      config: { ...config, notifications: { default_language: 'de' }, public_name: { en: 'Sleep', de: 'Schlaf' } },
    });
    // Nothing of the service is in Italian.
    for (const preferred_language of [null, 'it']) {
      const { id } = await german.newParticipant({ email: `${unique('p')}@example.org`, preferred_language });
      const { page } = await open(`/portal?token=${await sendLink(german.http, id)}`);
      await page.click('#enter');
      await reads(page, 'Nächster Termin');
      expect(await page.$eval('html', (html) => (html as unknown as { lang: string }).lang)).to.equal('de');
      await page.close();
    }
  });

  it('says what it needs, in each language, where no script runs', async () => {
    const page = await (await browser.createBrowserContext()).newPage();
    await page.setJavaScriptEnabled(false);
    await page.goto(`${run.api}/portal`);
    const said = await words(page);
    for (const text of ['needs JavaScript', 'braucht JavaScript', 'necesita JavaScript', 'besoin de JavaScript'])
      expect(said).to.include(text);
    await page.close();
  });

  it('says after a withdrawal that taking part has ended, not that the service is away', async () => {
    const { id } = await participant('de');
    const { page } = await open(`/portal?token=${await sendLink(site.http, id)}`);
    await page.click('#enter');
    await reads(page, 'Nächster Termin');
    await site.http.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: 'moved' });
    await page.click('input[name=email]');
    await reads(page, 'Die Teilnahme an dieser Studie ist beendet.');
    await page.reload();
    await reads(page, 'Taking part in this study has ended.');
    expect(await words(page)).not.to.match(/Nächster Termin|Next visit|not reached/);
    await page.close();
  });

  it('shows what is so now to who comes back to it, and nothing where another tab has logged out', async () => {
    const { id } = await participant('en');
    const visit = await site.visit({ participant_id: id, name: 'Week 4' });
    const { page, faults } = await open(`/portal?token=${await sendLink(site.http, id)}`);
    const comeBack = () => page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page.click('#enter');
    await reads(page, 'Open now');
    await site.http.expect(200, 'POST', `/api/visits/${visit.id}/complete`, {});
    await comeBack();
    await reads(page, 'Done on');
    expect(await words(page, '#next')).not.to.include('Week 4');
    const tab = await page.browserContext().newPage();
    await tab.goto(`${run.api}/portal`);
    await reads(tab, 'Done on');
    await tab.click('#leave');
    await reads(tab, 'You are logged out.');
    await comeBack();
    await reads(page, 'This page opens by a personal link.');
    expect(await words(page)).not.to.include('Week 4');
    expect(faults).to.deep.equal([]);
  });

  it('that could not be shown for want of a connection can be tried again', async () => {
    const { id } = await participant('en');
    await site.visit({ participant_id: id, name: 'Week 4' });
    const { page } = await open(`/portal?token=${await sendLink(site.http, id)}`);
    await page.click('#enter');
    await reads(page, 'Week 4');
    await page.setRequestInterception(true);
    const away = (request: HTTPRequest) =>
      void (request.url().includes('/api/') ? request.abort() : request.continue());
    page.on('request', away);
    await page.reload();
    await reads(page, 'The service is not reached at the moment');
    await reads(page, 'Try again');
    page.off('request', away);
    await page.setRequestInterception(false);
    await page.click('#retry');
    await reads(page, 'Week 4');
    expect(await words(page)).not.to.match(/not reached|Try again/);
  });

  it('says on a slow network that the press of a button was felt, and nothing of it when it is done', async () => {
    const { id } = await participant('en');
    await site.visit({ participant_id: id, name: 'Week 4' });
    const { page, faults } = await open(`/portal?token=${await sendLink(site.http, id)}`);
    const held: HTTPRequest[] = [];
    await page.setRequestInterception(true);
    page.on('request', (request) => {
      if (request.url().endsWith('/api/portal/session')) held.push(request);
      else void request.continue();
    });
    await page.click('#enter');
    await reads(page, 'One moment, please');
    await page.click('#enter');
    expect(held).to.have.length(1);
    await held[0]!.continue();
    await reads(page, 'Week 4');
    await until(async () => !(await words(page, 'body')).includes('One moment, please') || undefined, {
      what: 'the end of that sentence',
    });
    expect(faults).to.deep.equal([]);
  });

  it('goes on with the others when a caregiver’s child is not among them any more', async () => {
    const [kai, lea] = [await participant('en'), await participant('en')];
    const at = `/api/studies/${site.study.id}/caregivers`;
    const { id } = await site.http.expect(201, 'POST', at, { name: 'Ada', preferred_language: 'en' });
    for (const [person, name] of [
      [kai, 'Visit of Kai'],
      [lea, 'Visit of Lea'],
    ] as const) {
      await site.http.expect(200, 'PUT', `${at}/${id}/participants/${person.id}`, { relationship: 'mother' });
      await site.visit({ participant_id: person.id, name });
    }
    const { page, faults } = await open(`/portal?token=${await sendCaregiverLink(site.http, site.study.id, id)}`);
    await page.click('#enter');
    await reads(page, 'Next visit');
    await page.select('#person', kai.id);
    await reads(page, 'Visit of Kai');
    await site.http.expect(200, 'POST', `/api/participants/${kai.id}/withdraw`, { reason: 'moved' });
    await page.click('input[name=email]');
    await reads(page, `No longer shown here: ${String(kai.participant_code)}.`);
    await reads(page, 'Visit of Lea');
    expect(await words(page)).not.to.match(/Visit of Kai|not reached/);
    // What was meant for one is not done for another.
    expect(await page.$eval('input[name=email]', (box) => (box as unknown as { checked: boolean }).checked)).to.equal(
      true,
    );
    expect(faults).to.deep.equal([]);
  });

  it('a preference that could not be saved is shown as it stands, and can be tried again', async () => {
    const ada = await participant('en');
    const { page, faults } = await open(`/portal?token=${await sendLink(site.http, ada.id)}`);
    const box = () =>
      page.$eval('input[name=email]', (input) => {
        const { checked, disabled } = input as unknown as { checked: boolean; disabled: boolean };
        return { checked, disabled };
      });
    await page.click('#enter');
    await reads(page, 'No visit is planned at the moment.');
    await page.setOfflineMode(true);
    await page.click('input[name=email]');
    await reads(page, 'The service is not reached at the moment');
    expect(await box()).to.deep.equal({ checked: true, disabled: false });
    await page.setOfflineMode(false);
    await page.click('input[name=email]');
    await reads(page, 'Saved.');
    expect(await box()).to.deep.equal({ checked: false, disabled: false });
    await page.reload();
    await reads(page, 'No visit is planned at the moment.');
    expect([await box(), faults]).to.deep.equal([{ checked: false, disabled: false }, []]);
  });

  it('a link that is only fetched still opens; opened once, it says so in words', async () => {
    const eva = await participant('en');
    const link = `/portal?token=${await sendLink(site.http, eva.id)}`;
    expect((await new Http(run.api).get(link)).status).to.equal(200);
    const first = await open(link);
    await first.page.click('#enter');
    await reads(first.page, 'No visit is planned at the moment.');
    // A mail program may have put something behind it; no link is so long.
    for (const address of [link, `/portal?token=${'x'.repeat(300)}`]) {
      const { page } = await open(address);
      await page.click('#enter');
      await reads(page, 'This link was used already');
    }
  });

  it('that is loaded again has its button until the link has opened, and asks for another one once it is of no use', async () => {
    const eva = await participant('en');
    const link = `/portal?token=${await sendLink(site.http, eva.id)}`;
    const { page, faults } = await open(link);
    const late = await open(link);
    await page.reload();
    await reads(page, 'Open my page');
    // A lost connection takes nothing of it.
    await page.setOfflineMode(true);
    await page.click('#enter');
    await reads(page, 'The service is not reached at the moment');
    await page.setOfflineMode(false);
    await page.reload();
    await reads(page, 'Open my page');
    expect(page.url()).to.equal(`${run.api}/portal`);
    await page.click('#enter');
    await reads(page, 'No visit is planned at the moment.');
    await page.reload();
    await reads(page, 'No visit is planned at the moment.');
    await late.page.reload();
    await late.page.click('#enter');
    await reads(late.page, 'This link was used already');
    await late.page.reload();
    await reads(late.page, 'This page opens by a personal link.');
    for (const one of [page, late.page]) expect(await one.evaluate('history.state')).to.equal(null);
    expect([...faults, ...late.faults]).to.deep.equal([]);
  });

  it('has messages sent to the device, shows one that comes, and ends them', async () => {
    const kim = await participant('en');
    const { page, outside, faults } = await open('/portal');
    await page.browserContext().overridePermissions(run.api, ['notifications']);
    // The one thing that a browser without the internet cannot do: its maker's push service names an address.
    const { token } = new PushBrowser('https://push.example.org/kim');
    await page.evaluateOnNewDocument(`{
      const made = { toJSON: () => (${token}), unsubscribe: async () => { sessionStorage.removeItem('made'); return true; } };
      Object.assign(PushManager.prototype, {
        getSubscription: async () => (sessionStorage.getItem('made') ? made : null),
        subscribe: async ({ userVisibleOnly, applicationServerKey }) => {
          if (!userVisibleOnly || applicationServerKey.length !== 65) throw new TypeError('no key of a server');
          sessionStorage.setItem('made', 'yes');
          return made;
        },
      });
    }`);
    await page.goto(`${run.api}/portal?token=${await sendLink(site.http, kim.id)}`);
    await page.click('#enter');
    await reads(page, 'Send messages to this device');
    await page.click('#device');
    await reads(page, 'Messages about visits come to this device now.');
    const sql = new pg.Client({ connectionString: run.database_url });
    await sql.connect();
    try {
      expect((await sql.query('select token from push_tokens where participant_id = $1', [kim.id])).rows).to.deep.equal(
        [{ token }],
      );
    } finally {
      await sql.end();
    }
    // A browser without a screen shows no notification: what its worker asks for is what there would be.
    const worker = (await (
      await browser.waitForTarget((target) => target.type() === 'service_worker' && target.url().startsWith(run.api), {
        timeout: 60_000,
      })
    ).worker())!;
    await worker.evaluate(
      'self.shown = []; self.registration.showNotification = async (title, options) => { self.shown.push({ ' +
        'title, ...options }); }',
    );
    const devtools = await page.createCDPSession();
    const registered = new Promise<string>((resolve) => {
      devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        if (registrations[0]) resolve(registrations[0].registrationId);
      });
    });
    await devtools.send('ServiceWorker.enable');
    await devtools.send('ServiceWorker.deliverPushMessage', {
      origin: run.api,
      registrationId: await registered,
      data: JSON.stringify({ title: 'Reminder: Week 4', body: 'Tomorrow', notification_id: 'n-1' }),
    });
    const shown = await until(
      async () => {
        const all = (await worker.evaluate('self.shown')) as object[];
        return all.length > 0 && all;
      },
      { what: 'the message to be shown' },
    );
    expect(shown).to.deep.equal([{ title: 'Reminder: Week 4', body: 'Tomorrow', tag: 'n-1' }]);
    await page.click('#device');
    await reads(page, 'This device gets no messages any more.');
    await reads(page, 'Send messages to this device');
    expect([outside, faults]).to.deep.equal([[], []]);
  });

  it('lets a caregiver choose for whom, in its own language, and shows results where the study does', async () => {
    const [kai, lea] = [await participant('en'), await participant('en')];
    const at = `/api/studies/${site.study.id}/caregivers`;
    const { id } = await site.http.expect(201, 'POST', at, { name: 'Ada', preferred_language: 'es' });
    for (const [person, relationship] of [
      [kai, 'madre'],
      [lea, 'tía'],
    ] as const) {
      await site.http.expect(200, 'PUT', `${at}/${id}/participants/${person.id}`, { relationship });
      await site.visit({ participant_id: person.id, name: `Visita de ${person === kai ? 'Kai' : 'Lea'}` });
    }
    const done = await site.session({ participant_id: lea.id });
    await site.submit(done, {
      task_summaries: { stroop: { accuracy: 0.875, mean_rt: 512.25, interference: 48, own_measure: 3 } },
      raw_trials: trials('stroop', 4),
    });
    await site.end(done);
    for (let i = 0; i < 11; i += 1) {
      const early = await site.session({ participant_id: lea.id });
      await site.submit(early, { task_summaries: { flanker: { accuracy: 0.5 } }, raw_trials: trials('flanker', 2) });
      await site.end(early);
    }
    const { page, outside, faults } = await open(
      `/portal?token=${await sendCaregiverLink(site.http, site.study.id, id)}`,
    );
    await page.click('#enter');
    await reads(page, 'Próxima visita');
    const options = await page.$$eval('#person option', (all) =>
      all.map((one) => [(one as unknown as { value: string }).value, one.textContent]),
    );
    expect(options).to.have.deep.members([
      [kai.id, `${String(kai.participant_code)} (madre)`],
      [lea.id, `${String(lea.participant_code)} (tía)`],
    ]);
    await page.select('#person', lea.id);
    await reads(page, 'Visita de Lea');
    expect(await words(page, '#visits')).not.to.include('Kai');
    expect(await page.$eval('#results', (part) => (part as unknown as { hidden: boolean }).hidden)).to.equal(true);
    await page.click('input[name=sms]');
    await reads(page, 'Guardado.');
    await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { config: { portal_results: 'summary' } });
    try {
      await page.reload();
      await reads(page, 'Resultados');
      // The choice is found again.
      await reads(page, 'Visita de Lea');
      expect(await words(page, '#sessions'))
        .to.match(/Flancos\s+Aciertos\s+50\s%/)
        .and.not.match(/Stroop/);
      expect(await page.$$eval('#sessions h3', (all) => all.length)).to.equal(10);
      await page.click('#more');
      await reads(page, 'Stroop');
      expect(await page.$$eval('#sessions h3', (all) => all.length)).to.equal(12);
      expect(await page.$eval('#more', (button) => (button as unknown as { hidden: boolean }).hidden)).to.equal(true);
      expect(await words(page, '#sessions'))
        .to.match(/Stroop/)
        .and.match(/Aciertos\s+88\s%/)
        .and.match(/Tiempo de reacción, media\s+512 ms/)
        .and.match(/Interferencia\s+48 ms/)
        .and.match(/Own measure\s+3/);
      expect(await page.$eval('input[name=sms]', (box) => (box as unknown as { checked: boolean }).checked)).to.equal(
        false,
      );
      await page.select('#person', kai.id);
      await reads(page, 'Todavía no hay resultados.');
      expect(await page.$eval('input[name=sms]', (box) => (box as unknown as { checked: boolean }).checked)).to.equal(
        true,
      );
      expect(
        await page.$eval('html', (html) => (html as unknown as { scrollWidth: number }).scrollWidth),
      ).to.be.at.most(PHONE.width);
      expect(JSON.stringify(await page.accessibility.snapshot())).to.include('"name":"La página de"');
    } finally {
      await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { config: { portal_results: null } });
    }
    await site.http.expect(204, 'DELETE', `${at}/${id}/participants/${kai.id}`);
    await page.reload();
    await reads(page, 'Visita de Lea');
    expect(await page.$eval('#whom', (part) => (part as unknown as { hidden: boolean }).hidden)).to.equal(true);
    expect([outside, faults]).to.deep.equal([[], []]);
  });

  it('calls tasks and metrics of the study’s own by its titles, else in words', async () => {
    const lea = await participant('es-MX');
    const metric = (title: unknown) => ({ type: 'number', title });
    const battery = await site.battery([
      {
        task: 'custom',
        name: 'rompe_1',
        settings: {
          title: { en: 'Puzzle', es: 'Rompecabezas' },
          result_schema: {
            properties: { pieces_placed: metric({ en: 'Pieces', es: 'Piezas' }), accuracy: metric('<b>Justas</b>') },
          },
        },
      },
      { task: 'custom', name: 'Línea & punto' },
      { task: 'custom', name: 'freeDrawing' },
    ]);
    await site.http.expect(200, 'PATCH', `/api/batteries/${String(battery.id)}`, { status: 'published' });
    const own = await site.session({
      participant_id: lea.id,
      visit_id: (await site.visit({ participant_id: lea.id, battery_id: battery.id })).id,
    });
    for (const [task, summary] of Object.entries({
      rompe_1: { pieces_placed: 12, accuracy: 1 },
      'Línea & punto': { strokesTotal: 4 },
      freeDrawing: { mean_pressure: 0.5 },
    }))
      await site.submit(own, { task_summaries: { [task]: summary }, raw_trials: trials(task, 2) });
    await site.end(own);
    await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { config: { portal_results: 'summary' } });
    try {
      const { page, outside, faults } = await open(`/portal?token=${await sendLink(site.http, lea.id)}`);
      await page.click('#enter');
      await reads(page, 'Rompecabezas');
      expect(await words(page, '#sessions'))
        .to.match(/Rompecabezas\s+<b>Justas<\/b>\s+100\s%\s+Piezas\s+12/)
        .and.match(/Línea & punto\s+Strokes total\s+4/)
        .and.match(/Free drawing\s+Mean pressure\s+0,5/);
      expect([outside, faults]).to.deep.equal([[], []]);
    } finally {
      await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { config: { portal_results: null } });
    }
  });

  it('calls the study as participants know it, says whom to ask, and when a visit was done', async () => {
    const config = {
      public_name: { en: 'Sleep study', fr: 'Étude du sommeil' },
      contact: { name: 'Ada', email: 'ada@example.org', phone: '+49 30 1' },
    };
    await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { config });
    try {
      const luc = await participant('fr-CA');
      const visit = await site.visit({ participant_id: luc.id, name: 'week_4_arm_1' });
      const done = await site.session({ participant_id: luc.id, visit_id: visit.id });
      await site.submit(done, { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: trials('stroop', 2) });
      await site.end(done);
      const { page, outside, faults } = await open(`/portal?token=${await sendLink(site.http, luc.id)}`);
      await page.click('#enter');
      await reads(page, 'Étude du sommeil');
      expect(await page.title()).to.equal('Étude du sommeil');
      expect(await words(page, '#contact')).to.equal('Votre équipe de l’étude : Ada, ada@example.org, +49 30 1');
      expect(await words(page, '#visits')).to.match(/^Week 4\s+Faite le /);
      // A number that the team does not have is said to be missing; an address that it has is not.
      expect(await words(page, '#channels'))
        .to.include('n’a pas votre numéro de mobile')
        .and.not.include('n’a pas votre adresse');
      expect([outside, faults]).to.deep.equal([[], []]);
    } finally {
      await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, {
        config: { public_name: null, contact: null },
      });
    }
  });

  it('without a link says so, and sends a new one to the address that is given', async () => {
    const email = `${unique('lost')}@example.org`;
    await site.newParticipant({ email, preferred_language: 'en' });
    const { page, outside, faults } = await open('/portal');
    await reads(page, 'This page opens by a personal link.');
    expect(await words(page)).not.to.include('used already');
    await page.type('#address', 'nobody');
    await page.click('#again button');
    await reads(page, 'Please enter an e-mail address or a mobile number.');
    await page.$eval('#address', (input) => {
      (input as unknown as { value: string }).value = '';
    });
    await page.type('#address', email);
    await page.click('#again button');
    await reads(page, 'a new link is on its way');
    // None comes to who takes part no longer.
    await reads(page, 'If none comes in ten minutes, ask your study team.');
    const token = await until(async () => (await mailsTo(email)).map(({ text }) => tokenIn(text))[0], {
      what: 'the mail',
    });
    await page.goto(`${run.api}/portal?token=${token!}`);
    await page.click('#enter');
    await reads(page, 'No visit is planned at the moment.');
    expect([outside, faults]).to.deep.equal([[], []]);
  });

  it('goes on without another link where that was wished, and not elsewhere', async () => {
    const may = await participant('en');
    const stays = async (remember: boolean): Promise<void> => {
      const { page, faults } = await open(`/portal?token=${await sendLink(site.http, may.id)}`);
      if (remember) await page.click('#remember');
      await page.click('#enter');
      await reads(page, 'No visit is planned at the moment.');
      // As when its half hour is over.
      await page
        .browserContext()
        .deleteCookie(...(await page.browserContext().cookies()).filter(({ name }) => name === 'portal_session'));
      await page.reload();
      await reads(page, remember ? 'No visit is planned at the moment.' : 'This page opens by a personal link.');
      if (remember) {
        await page.click('#leave');
        await reads(page, 'You are logged out.');
        expect((await page.browserContext().cookies()).map(({ name }) => name)).to.deep.equal([]);
      }
      expect(faults).to.deep.equal([]);
    };
    await stays(true);
    await stays(false);
  });

  it('opens by a button that is pressed twice, and again by the same link, while its login goes on', async () => {
    const may = await participant('en');
    const link = `/portal?token=${await sendLink(site.http, may.id)}`;
    const { page, faults } = await open(link);
    await page.click('#enter', { count: 2, delay: 5 });
    await reads(page, 'No visit is planned at the moment.');
    expect(await words(page)).not.to.include('used already');
    // The same mail, in another tab.
    const tab = await page.browserContext().newPage();
    await tab.goto(`${run.api}${link}`);
    await tab.click('#enter');
    await reads(tab, 'No visit is planned at the moment.');
    expect(await words(tab)).not.to.include('used already');
    await tab.click('#leave');
    await reads(tab, 'You are logged out.');
    await tab.goto(`${run.api}${link}`);
    await tab.click('#enter');
    await reads(tab, 'This link was used already');
    expect(await words(tab)).not.to.include('No visit is planned');
    expect(faults).to.deep.equal([]);
  });

  it('does not become the page of somebody else who stays logged in on the same device', async () => {
    const [one, other] = [await participant('en'), await participant('en')];
    await site.visit({ participant_id: one.id, name: 'Visit of one' });
    await site.visit({ participant_id: other.id, name: 'Visit of other' });
    const { page, faults } = await open(`/portal?token=${await sendLink(site.http, one.id)}`);
    await page.click('#remember');
    await page.click('#enter');
    await reads(page, 'Visit of one');
    await page.goto(`${run.api}/portal?token=${await sendLink(site.http, other.id)}`);
    await page.click('#enter');
    await reads(page, 'Visit of other');
    await page
      .browserContext()
      .deleteCookie(...(await page.browserContext().cookies()).filter(({ name }) => name === 'portal_session'));
    await page.reload();
    await reads(page, 'This page opens by a personal link.');
    expect(await words(page)).not.to.include('Visit of one');
    expect(faults).to.deep.equal([]);
  });

  it('gives an address for a calendar program, and takes it back', async () => {
    const kim = await participant('en');
    await site.visit({ participant_id: kim.id, name: 'Week 12' });
    const { page, faults } = await open(`/portal?token=${await sendLink(site.http, kim.id)}`);
    await page.click('#enter');
    await reads(page, 'Show my visits in my calendar');
    await page.click('#feed-make');
    await reads(page, 'Open in my calendar');
    const address = await page.$eval('#feed-url', (input) => (input as unknown as { value: string }).value);
    expect(await page.$eval('#feed-open', (link) => (link as unknown as { href: string }).href)).to.equal(
      address.replace(/^http:/, 'webcal:'),
    );
    expect(await (await fetch(address)).text()).to.include('SUMMARY:Week 12');
    await page.click('#feed-end');
    await reads(page, 'The address does not work any more.');
    expect((await fetch(address)).status).to.equal(404);
    expect(faults).to.deep.equal([]);
  });

  it('tells every control’s name to who cannot see it, and keeps a keyboard’s place', async () => {
    const { page } = await open(`/portal?token=${await sendLink(site.http, (await participant('en')).id)}`);
    const press = async (button: string) => {
      await page.focus(button);
      await page.keyboard.press('Enter');
    };
    const hasFocus = () => page.evaluate('document.activeElement.id');
    await press('#enter');
    await reads(page, 'Log out');
    expect(await hasFocus(), 'a keyboard goes on from the top').to.equal('title');
    const tree = JSON.stringify(await page.accessibility.snapshot());
    for (const name of [
      'Next visit',
      'All visits',
      'Messages about visits',
      'By e-mail',
      'By text message',
      'On my device',
      'Log out',
    ])
      expect(tree).to.include(`"name":"${name}"`);
    await press('#leave');
    await reads(page, 'You are logged out.');
    expect(await hasFocus()).to.equal('title');
  });
});
