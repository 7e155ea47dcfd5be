import { expect } from 'chai';
import type { Page } from 'puppeteer-core';
import { AnchorStudy, DAY } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import { ConsoleBrowser } from '../console/browser.js';
import { unique, user } from '../support/http.js';
import { sendLink } from '../support/portal.js';
import { until } from '../support/until.js';
import { Desk, byHand, clockIn, dayIn, daytimeZone } from './stage.js';
import type { Mail } from './stage.js';

/** Runs where it is read as HTML, from within text, an attribute, a title, a style or an SVG. */
const SCRIPT =
  `"'></title></style></desc></text><img src=x onerror=self.ran=1><svg ` +
  'onload=self.ran=1><script>self.ran=1</script>]]>';
const HEBREW = { study: 'זיכרון ושינה', visit: 'ביקור שלוש', contact: 'ד״ר עדה', reason: 'טעות הקלדה', code: 'משתתף' };

/** A study in which every text that people give is one of these names, and a participant of it. */
interface World {
  study: AnchorStudy;
  who: Person & { email?: string };
  approver: { email: string };
  names: typeof HEBREW;
}

describe('What people have written, on pages and in mails', function suite() {
  this.timeout(180_000);
  const zone = daytimeZone();
  let desk: Desk;
  let browser: ConsoleBrowser;
  before(async () => {
    desk = await Desk.open();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await desk?.close();
  });

  const world = async (names: typeof HEBREW): Promise<World> => {
    const { admin } = desk.stage;
    const study = await desk.study(undefined, {
      timezone: zone,
      study_name: names.study,
      config: {
        public_name: names.study,
        contact: { name: names.contact, email: 'ada@example.org', phone: '+49 30 1234' },
        enrollment_date_policy: {
          ...byHand,
          permissions: {
            can_override: ['admin', 'coordinator'],
            override_requires_approval: true,
            override_approver_roles: ['researcher'],
          },
        },
        notifications: {
          send_at: clockIn(zone, -10),
          languages: {
            en: { visit_reminder: { subject: '{{visit_name}}', body: '{{visit_name}}: {{target_date}}, {{contact}}' } },
          },
        },
      },
    });
    await study.window(0, { name: names.visit });
    const who = await desk.person(study, { preferred_language: 'en', participant_code: `${names.code} ${unique()}` });
    const approver = await user(admin, 'researcher', { study_ids: [study.id] });
    const asker = await user(admin, 'coordinator', { study_ids: [study.id], name: names.contact });
    await who.set(DAY);
    expect((await who.override('2024-03-03', asker, { reason: names.reason })).status).to.equal(202);
    await desk.visit(who, dayIn(zone, 1), { name: names.visit });
    return { study, who, approver, names };
  };
  /** The first mail with HTML: notices to a user have none. */
  const mailTo = (address: string, what: string): Promise<Mail> =>
    until(async () => (await desk.mailsTo(address)).find(({ html }) => html !== ''), { what });
  const reminderOf = async ({ who }: World): Promise<Mail> => {
    const address = await desk.addressOf(who);
    return desk.sweep(async () => (await desk.mailsTo(address))[0], 'the reminder');
  };

  const newPage = () => browser.page();
  /** A mail as a program shows it that allows everything. */
  const shown = async (html: string): Promise<Page> => {
    const page = await newPage();
    await page.setContent(html);
    return page;
  };
  /** A page of the API, with a user's token. */
  const opened = async (url: string): Promise<Page> => {
    const page = await newPage();
    await page.setExtraHTTPHeaders({ Authorization: `Bearer ${desk.stage.admin.token ?? ''}` });
    await page.goto(url);
    return page;
  };
  const textOf = (page: Page): Promise<string> =>
    page.evaluate('document.documentElement.textContent') as Promise<string>;

  describe('does nothing where it is a script', () => {
    let own: World;
    before(async () => {
      own = await world({
        study: `Study ${SCRIPT}`,
        visit: `Visit ${SCRIPT}`,
        contact: `Ada ${SCRIPT}`,
        reason: `Reason ${SCRIPT}`,
        code: '<img src=x onerror=self.ran=1>',
      });
    });

    /** Every text of these is read as it was written, and none has run or become an element. */
    const isInert = async (page: Page, ...texts: string[]): Promise<void> => {
      const said = await textOf(page);
      for (const text of texts) expect(said).to.include(text);
      expect(await page.evaluate('self.ran === undefined')).to.equal(true);
      expect(await page.evaluate('document.querySelectorAll("img, svg svg, [onload]").length')).to.equal(0);
      await page.browserContext().close();
    };

    it('in the timeline, as a page and as a picture', async () => {
      const { names } = own;
      for (const format of ['html', 'svg'])
        await isInert(
          await opened(`${desk.stage.run.api}${own.who.path}/timeline?format=${format}`),
          names.code,
          names.study,
          names.visit,
          names.reason,
        );
    });

    it('in reminders, and the page that ends them', async () => {
      const { names } = own;
      const mail = await reminderOf(own);
      await isInert(await shown(mail.html), names.visit, names.contact);
      await isInert(await opened(mail.headers['list-unsubscribe']!.slice(1, -1)), names.study);
    });

    it('in the mail to an approver', async () => {
      const { names, approver } = own;
      const mail = await mailTo(approver.email, 'the mail to the approver');
      await isInert(await shown(mail.html), names.code, names.reason, names.contact, names.visit);
    });

    it('on the participant’s page, and among the caught mails', async () => {
      const { names, who } = own;
      const page = await newPage();
      await page.goto(`${desk.stage.run.api}/portal?token=${await sendLink(desk.stage.admin, who.id)}`);
      await page.click('#enter');
      await until(async () => (await textOf(page)).includes(names.visit), { what: 'the visits' });
      await isInert(page, names.study, names.contact);
      await isInert(await opened(desk.stage.run.mail_ui!), names.visit);
    });
  });

  describe('keeps its place where it is written from right to left', () => {
    let own: World;
    before(async () => {
      own = await world(HEBREW);
    });

    /** Whether a text stands to the left of another one that follows it in its paragraph or cell. */
    const isBefore = (page: Page, first: string, second: string): Promise<unknown> =>
      page.evaluate(`(() => {
        const placesIn = (root, text) => {
          const places = [];
          const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const node = walker.currentNode;
            const at = node.data.indexOf(text);
            if (at === -1 || !node.parentElement.closest('p, td')) continue;
            const range = document.createRange();
            range.setStart(node, at);
            range.setEnd(node, at + text.length);
            places.push({ block: node.parentElement.closest('p, td'), box: range.getBoundingClientRect() });
          }
          return places;
        };
        const lines = placesIn(document.body, ${JSON.stringify(second)}).flatMap((other) =>
          placesIn(other.block, ${JSON.stringify(first)}).map((one) => [one.box, other.box]),
        );
        return lines.length > 0 && lines.every(([one, other]) => one.right <= other.left + 1);
      })()`);

    it('in mails', async () => {
      const reminder = await shown((await reminderOf(own)).html);
      expect(await isBefore(reminder, HEBREW.visit, dayIn(zone, 1))).to.equal(true);
      expect(await isBefore(reminder, HEBREW.contact, '+49 30 1234')).to.equal(true);
      const { html } = await mailTo(own.approver.email, 'the mail to the approver');
      expect(await isBefore(await shown(html), HEBREW.visit, `: ${DAY}`)).to.equal(true);
    });

    it('on the timeline', async () => {
      const page = await opened(`${desk.stage.run.api}${own.who.path}/timeline?format=html`);
      expect(await isBefore(page, HEBREW.visit, 'due, window')).to.equal(true);
    });

    it('on the participant’s page', async () => {
      const page = await newPage();
      await page.goto(`${desk.stage.run.api}/portal?token=${await sendLink(desk.stage.admin, own.who.id)}`);
      await page.click('#enter');
      await until(async () => (await textOf(page)).includes(HEBREW.visit), { what: 'the visits' });
      expect(await isBefore(page, HEBREW.contact, '+49 30 1234')).to.equal(true);
    });

    it('and a mail in such a language runs from right to left', async () => {
      const { admin } = desk.stage;
      const words = { subject: HEBREW.study, body: `${HEBREW.visit}\n\n{{link}}` };
      const study = await desk.study({ languages: { he: { magic_link: words } } });
      const who = await desk.person(study, { preferred_language: 'he' });
      await admin.expect(202, 'POST', '/api/portal/magic-link', { participant_id: who.id, channel: 'email' });
      const page = await shown((await mailTo(await desk.addressOf(who), 'the mail with the link')).html);
      expect(
        await page.evaluate('[document.documentElement.lang, getComputedStyle(document.body).direction]'),
      ).to.deep.equal(['he', 'rtl']);
    });
  });
});
