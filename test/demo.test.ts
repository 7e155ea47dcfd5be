import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { root } from './support/environment.js';
import { compiled } from './support/program.js';
import { service, temporaryDataDir } from './support/service.js';
import { ConsoleBrowser, PHONE, submit, textOf } from './console/browser.js';
import { Visitor } from './console/stage.js';

/** Runs the demo's program, as `npm run demo` does once everything is built. */
async function demo(
  dataDir: string,
  ...options: string[]
): Promise<{ code: number | null; output: string; faults: string }> {
  const child = spawn(process.execPath, [compiled('scripts/demo'), ...options], {
    cwd: root,
    env: { ...process.env, DATA_DIR: dataDir, ADMIN_PASSWORD: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '',
    faults = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    faults += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, faults };
}

describe('the demo', function () {
  this.timeout(120_000);

  for (const time of ['a first', 'a second']) {
    it(`takes a participant from a trigger to an approved override and ends with the table, ${time} time`, async () => {
      const run = await service();
      const { code, output, faults } = await demo(run.data_dir);
      expect(code, `${output}\n${faults}`).to.equal(0);
      const main = output.split('\n').find((line) => line.startsWith('  A-01/β'));
      expect(main).to.match(
        /\| \d{4}-\d\d-\d\d finalized, overridden +\| 2, current from \d{4}-\d\d-\d\d +\| 1 completed, 3 \w+.*\| yes/,
      );
      expect(output)
        .to.match(/^ {2}0007 .*provisional/m)
        .and.to.match(/^ {2}7 .*provisional/m)
        .and.to.match(/^ {2}1002 +\| unset/m);
      expect(output).to.include(`${run.temporal_ui}/namespaces/default/workflows/participant-anchor%2F`);
      expect(output)
        .to.match(/rt_mean +342\.18/)
        .and.to.match(/nback_results_complete 2/)
        .and.to.include('breaker closed; 1 synced, 0 pending, 0 failed');
      expect(output).not.to.include('✗');
      expect(output).to.match(new RegExp(`The participant in the console: ${run.console}/participants/[0-9a-f-]{36}`));
      expect(output).not.to.include('The approval that waits');
      expect(output, 'no secret is printed')
        .not.to.include(run.admin_password ?? 'no password')
        .and.not.to.match(/eyJ[\w-]+\./);
    });
  }

  it('leaves the approval to a person who never saw the console: from the mail, in six steps; ends with the addresses of the approval and of its participant', async () => {
    const run = await service();
    const { code, output, faults } = await demo(run.data_dir, '--keep-open');
    expect(code, `${output}\n${faults}`).to.equal(0);
    const end = output.slice(output.indexOf('The approval that waits'));
    expect(end).to.include(`Its mail to the approver:       ${run.mail_ui}/`);
    const [, email, password] = /Log in as (\S+), password (\S+)/.exec(end)!;
    const [, approval] = new RegExp(`${run.console}(/approvals/[0-9a-f-]{36})`).exec(end)!;
    const found = await fetch(`${run.mail_ui}/email?to.address=${encodeURIComponent(email!)}`);
    const mails = (await found.json()) as { html: string; to: { address: string }[] }[];
    const mail = mails.find(({ to }) => to.some(({ address }) => address === email))!;
    const browser = await ConsoleBrowser.start();
    try {
      const page = await browser.page({ viewport: PHONE });
      const began = performance.now();
      // Nothing but the keys and the screen from here on: what has the focus, and what is seen without scrolling.
      await page.setContent(mail.html);
      await Promise.all([page.waitForNavigation(), page.click('a')]);
      expect(await textOf(page, 'main')).to.include('Log in');
      await page.keyboard.sendCharacter(email!);
      await page.keyboard.press('Tab');
      await page.keyboard.sendCharacter(password!);
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
      expect(new URL(page.url()).pathname).to.equal(`/console${approval}`);
      for (const part of ['.dates', '[name=reason]', 'button[value=approve]', 'button[value=deny]'])
        expect(
          Number(await page.evaluate(`document.querySelector('${part}').getBoundingClientRect().bottom`)),
          part,
        ).to.be.below(PHONE.height);
      expect(await textOf(page, '.question'))
        .to.include('A-01/β')
        .and.to.include('Demo coordinator')
        .and.to.include('three days early');
      await page.click('[name=reason]');
      await page.keyboard.sendCharacter('Checked against the source document.');
      await submit(page, 'button[value=approve]');
      await page.waitForSelector('.tag.approved');
      expect(performance.now() - began, 'milliseconds from the mail to the decision').to.be.below(60_000);
    } finally {
      await browser.close();
    }
    const [participant] = /console\/participants\/[0-9a-f-]{36}/.exec(output)!;
    const visitor = await Visitor.of(run.api, email!, password!);
    expect((await visitor.get(`/${participant}`)).text)
      .to.include('A-01/β')
      .and.to.include('Overridden');
  });

  it('says what to do where no service runs, and ends with 1', async () => {
    const empty = dirname(temporaryDataDir());
    const { code, output, faults } = await demo(empty);
    expect(code).to.equal(1);
    expect(output).to.equal('');
    expect(faults.trim()).to.equal(
      `No service is running on ${empty} (there is no run.json in it): start one with "npm start", or set ` +
        'DATA_DIR to its data folder.',
    );
  });
});
