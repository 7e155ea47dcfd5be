import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ElementHandle } from 'puppeteer-core';
import { until } from '../support/until.js';
import { Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { ConsoleBrowser, axe, openConsole, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, sendImport } from './stage.js';

const HEADER = 'participant_code,external_id,site_code,preferred_language,email\n';

describe('the console’s import of participants', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  const folder = mkdtempSync(join(tmpdir(), 'console-import-'));
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  const fileOf = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const emailOf = async (study: AnchorStudy, role: 'coordinator' | 'researcher' = 'coordinator') =>
    ((await study.as(role)) as unknown as { email: string }).email;
  const codes = async (study: AnchorStudy): Promise<string[]> => {
    const { items } = await stage.admin.expect<{ items: { participant_code: string }[] }>(
      200,
      'GET',
      `/api/studies/${study.id}/participants?sort=participant_code`,
    );
    return items.map(({ participant_code }) => participant_code);
  };
  const send = (visitor: Visitor, study: AnchorStudy, content: string, fields: Record<string, string>) =>
    sendImport(visitor, study.id, content, fields);

  it('shows the preview beside the chosen file, then imports it, and says what became of it', async () => {
    const study = await stage.study();
    const { page, faults } = await openConsole(browser, `/console/studies/${study.id}/import`, {
      as: await emailOf(study),
    });
    const script = '<script>alert(1)</script>';
    const file = fileOf('people.csv', `${HEADER}A1,,,en,\nA2,,,de,\nA3,,NOWHERE,en,${script}\n`);
    await ((await page.$('[name=file]')) as ElementHandle<HTMLInputElement>).uploadFile(file);
    await page.click('button[value=preview]');
    await page.waitForSelector('#result button[value=import]');
    const preview = await textOf(page, '#result');
    expect(preview).to.include('nothing is imported yet').and.to.include('1 failed row');
    expect(await codes(study)).to.deep.equal([]);
    expect(await axe(page)).to.deep.equal([]);
    // The file of failed rows leaves the page, and its form can still be sent.
    await page.click('#result button[value=failed_rows]');
    await page.waitForFunction('!document.querySelector("form[data-sent]")', { polling: 250 });
    await submit(page, '#result button[value=import]');
    expect(new URL(page.url()).pathname).to.match(/\/imports\/[0-9a-f-]{36}$/);
    await until(async () => ((await textOf(page, '#progress')).includes('Done') ? true : undefined), {
      what: 'the import to be over',
    });
    expect((await textOf(page, '#progress')).replaceAll(/\s+/g, ' ')).to.match(/New 2 .*Failed 1/);
    expect(await axe(page)).to.deep.equal([]);
    expect(await codes(study)).to.deep.equal(['A1', 'A2']);
    expect(
      (await study.audit('participants_imported')).map(({ audit_metadata }) => audit_metadata.imported),
    ).to.deep.equal([2]);
    await page.goto(`${browser.base}/console/studies/${study.id}/import`);
    expect(await textOf(page, 'main table')).to.include('Done');
    expect(faults).to.deep.equal([]);
  });

  it('gives the file of failed rows, refuses another file than the previewed one, and imports once', async () => {
    const study = await stage.study();
    const visitor = await Visitor.of(stage.run.api, await emailOf(study));
    const content = `${HEADER}B1,,,en,\nB2,,NOWHERE,en,\n`;
    const preview = await send(visitor, study, content, { step: 'preview' });
    expect(preview.status).to.equal(200);
    const sha256 = hiddenIn(preview.text, 'sha256');
    const failed = await send(visitor, study, content, { step: 'failed_rows' });
    expect(failed.headers.get('content-disposition')).to.include('failed-rows');
    expect(failed.text).to.include('B2').and.to.include('NOWHERE').and.not.to.include('B1');
    const other = await send(visitor, study, `${HEADER}C1,,,en,\n`, { step: 'import', sha256 });
    expect(other.text).to.include('This is another file').and.to.include('nothing was imported');
    expect(await codes(study)).to.deep.equal([]);
    const import_id = hiddenIn(preview.text, 'import_id');
    const twice = [
      await send(visitor, study, content, { step: 'import', sha256, import_id }),
      await send(visitor, study, content, { step: 'import', sha256, import_id }),
    ];
    for (const { status, headers } of twice) {
      expect(status).to.equal(303);
      expect(headers.get('location')).to.equal(`/console/studies/${study.id}/imports/${import_id}`);
    }
    expect(await codes(study)).to.deep.equal(['B1']);
    expect(await study.audit('participants_imported')).to.have.length(1);
    const faulty = await send(visitor, study, 'name\nsomebody\n', { step: 'preview' });
    expect(faulty.text).to.include('participant_code').and.not.to.include('value="import"');
  });

  it('gives the file of failed rows with the mark by which a spreadsheet reads its letters, and takes it back so', async () => {
    const study = await stage.study();
    const visitor = await Visitor.of(stage.run.api, await emailOf(study));
    const content = `${HEADER}Ü-Łódź-1,,NOWHERE,en,\n`;
    const { bytes } = await send(visitor, study, content, { step: 'failed_rows' });
    expect(bytes.subarray(0, 3).toString('hex')).to.equal('efbbbf');
    await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'NOWHERE' });
    const again = bytes.toString('utf8');
    const { text } = await send(visitor, study, again, { step: 'preview' });
    const sha256 = hiddenIn(text, 'sha256');
    expect((await send(visitor, study, again, { step: 'import', sha256 })).status).to.equal(303);
    expect(await codes(study)).to.deep.equal(['Ü-Łódź-1']);
  });
});
