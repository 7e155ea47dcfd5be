import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { unique, user } from '../support/http.js';
import { ConsoleBrowser, DESKTOP, PHONE, openConsole, signIn } from './browser.js';
import { pagesToShow } from './pages.js';
import { withApproval } from './stage.js';

const NARROW = { width: 320, height: 640 };
/** As long as a name may be, without a place to break it; written from right to left; a script. */
const LONG = 'n'.repeat(200);
const RIGHT_TO_LEFT = 'מרכז הבריאות של ירושלים '.repeat(8).slice(0, 199);
const SCRIPT = '<script>document.title="broken"</script><img src=x onerror=\'document.title="broken"\'>';

describe('every page of the console on a narrow screen', function () {
  this.timeout(240_000);
  let browser: ConsoleBrowser;
  let stage: Stage;
  before(async () => {
    [browser, stage] = await Promise.all([ConsoleBrowser.start(), Stage.open()]);
  });
  after(async () => {
    await browser?.close();
    await stage?.close();
  });

  it('keeps within 320 px, and within a desk’s screen, with names of 200 characters, written either way, and runs no script of them', async () => {
    const study = await stage.study(withApproval, {
      days: [],
      fields: {
        study_code: unique('N').padEnd(64, 'X').slice(0, 64),
        study_name: `${LONG}${SCRIPT}`.slice(0, 300),
        description: `${SCRIPT} ${RIGHT_TO_LEFT}`,
      },
    });
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: unique('SITE').padEnd(50, 'Y').slice(0, 50),
      name: RIGHT_TO_LEFT,
    });
    await study.window(0, {
      code: unique('W').padEnd(60, 'Z'),
      name: SCRIPT + LONG,
      window_before: 10,
      window_after: 10,
    });
    await study.window(30, { code: 'M1', name: RIGHT_TO_LEFT });
    const asker = await user(stage.admin, 'coordinator', { study_ids: [study.id], name: RIGHT_TO_LEFT });
    const person = await study.person({
      participant_code: unique('P').padEnd(64, 'Q').slice(0, 64),
      site_id: site.id,
      email: `${'m'.repeat(60)}@${'d'.repeat(60)}.example.org`,
      external_id: unique('E').padEnd(100, 'E'),
    });
    await person.set(new Date().toISOString().slice(0, 10));
    const { body } = await person.override('2024-03-17', asker, { reason: `${SCRIPT}${LONG} ${RIGHT_TO_LEFT}` });
    const admin = await user(stage.admin, 'admin', { name: LONG });
    const [visit] = await person.visits();
    const event = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/event-definitions`, {
      event_oid: unique('E').padEnd(200, 'E'),
      name: SCRIPT + LONG.slice(0, 150),
      target_day: 3,
    });
    const battery = await stage.admin.expect<{ id: number; modules: { id: string }[] }>(201, 'POST', '/api/batteries', {
      study_id: study.id,
      code: unique('B').padEnd(64, 'B').slice(0, 64),
      name: `${SCRIPT} ${RIGHT_TO_LEFT}`.slice(0, 200),
      description: SCRIPT + LONG,
      modules: [{ task: 'stroop', name: SCRIPT + LONG.slice(0, 100) }],
    });
    const words = { subject: SCRIPT, body: `${SCRIPT} ${RIGHT_TO_LEFT}` };
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, {
      config: {
        notifications: { languages: { he: { visit_reminder: words } } },
        public_name: { he: RIGHT_TO_LEFT, en: LONG },
        contact: { name: SCRIPT },
      },
    });
    const [windowOf] = await stage.sql<{ id: string }>('select id from visit_windows where study_id = ? limit 1', [
      study.id,
    ]);
    const subjects = {
      study: study.id,
      participant: person.id,
      user: asker.userId!,
      approval: body.override_request_id,
      battery: String(battery.id),
      more: {
        site_id: site.id,
        event_id: event.id,
        window_id: windowOf!.id,
        visit_id: visit!.id,
        module_id: battery.modules[0]!.id,
        template_id: 'longitudinal-cognition',
      },
    };
    const paths = pagesToShow(subjects).map(({ path }) => path);
    for (const language of ['en', 'de']) {
      const { page, faults } = await openConsole(browser, '/console/login', { viewport: NARROW, language });
      await signIn(page, admin.email);
      const over: string[] = [];
      // As wide as the page before it, then the other width: a page is drawn again for each change.
      let widths = [NARROW, DESKTOP];
      for (const path of paths) {
        const answer = await page.goto(`${browser.base}${path}`);
        expect(answer?.status(), path).to.equal(200);
        // What is folded is unfolded: it has to fit as well.
        await page.evaluate(`document.querySelectorAll('main details').forEach((part) => { part.open = true; })`);
        for (const [at, viewport] of widths.entries()) {
          if (at > 0) await page.setViewport(viewport);
          const wide = Number(await page.evaluate('document.documentElement.scrollWidth'));
          if (wide <= viewport.width) continue;
          const what = await page.evaluate(
            `[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > ${viewport.width + 1} ` +
              `&& !one.closest('.spoken')).slice(0, 4).map((one) => one.outerHTML.slice(0, 90)).join(' | ')`,
          );
          over.push(`${path}: ${wide} px in ${viewport.width}: ${String(what)}`);
        }
        widths = widths.toReversed();
        expect(await page.title(), path).not.to.equal('broken');
      }
      expect(over, language).to.deep.equal([]);
      expect(faults).to.deep.equal([]);
      await page.browserContext().close();
    }
  });

  it('has menu and tabs in a line each, with the current entry in view, also when the menu has come again', async () => {
    const study = await stage.study(withApproval);
    const { email } = await user(stage.admin, 'admin');
    const { page } = await openConsole(browser, '/console/login', { viewport: PHONE });
    await signIn(page, email);
    for (const path of [
      '/console/users',
      `/console/studies/${study.id}/sites`,
      `/console/capture/${study.id}/mapping`,
    ]) {
      await page.goto(`${browser.base}${path}`);
      // Where the counts of the menu are not known with the page, it asks for them once.
      await page.waitForFunction(`document.querySelector('#menu')?.getAttribute('hx-trigger') === 'every 60s'`, {
        polling: 250,
        timeout: 60_000,
      });
      const lines =
        (await page.evaluate(`[...document.querySelectorAll('#menu ul, .tabs ul, .subpages')].map((line) => {
        const entries = [...line.querySelectorAll('a')];
        const current = line.querySelector('[aria-current]').getBoundingClientRect();
        return {
          tops: new Set(entries.map((entry) => Math.round(entry.getBoundingClientRect().top))).size,
          seen: current.left >= 0 && current.right <= innerWidth,
        };
      })`)) as { tops: number; seen: boolean }[];
      expect(lines.length, path).to.equal(path === '/console/users' ? 1 : 2);
      for (const line of lines) expect(line, path).to.deep.equal({ tops: 1, seen: true });
    }
  });
});
