import { expect } from 'chai';
import { unique, user } from '../support/http.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { ConsoleBrowser, axe, fill, openConsole, submit, textOf, valueOf } from './browser.js';
import { Visitor, withApproval } from './stage.js';

describe('the console’s list of participants', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  let study: AnchorStudy;
  let email: string;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
    study = await stage.study(withApproval);
    ({ email } = (await study.as('coordinator')) as Awaited<ReturnType<AnchorStudy['as']>> & { email: string });
  });
  after(async () => {
    await browser?.close();
    await stage.close();
  });
  const signedIn = async (by = email): Promise<Visitor> => {
    return Visitor.of(stage.run.api, by);
  };

  /** So many participants, numbered from 00, each made after the one before. No workflow is begun for those of tomorrow. */
  const enrolled = (of: AnchorStudy, letter: string, count: number, domain: string | null = null) =>
    stage.sql(
      `with p as (insert into participants (study_id, participant_code, email, created_at)
         select :id, :letter || lpad(n::text, 2, '0'), lower(:letter) || n || '@' || :domain::text,
           now() + interval '1 day' + n * interval '1 second' from generate_series(0, :count::int - 1) n
         returning id, study_id)
       insert into anchor_dates (participant_id, study_id) select id, study_id from p`,
      { id: of.id, letter, count, domain },
    );

  it('begins with what to do first, and enrolls one', async () => {
    const empty = await stage.study(withApproval);
    await stage.admin.expect(201, 'POST', `/api/studies/${empty.id}/sites`, { site_code: 'GRZ', name: 'Graz' });
    const by = (await empty.as('coordinator')) as unknown as { email: string };
    const { page, faults } = await openConsole(browser, '/console/participants', { as: by.email });
    expect(await textOf(page, '.empty')).to.include('Enroll the first one');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, `a[href="/console/studies/${empty.id}/enroll"]`);
    const code = unique('P');
    await fill(page, { participant_code: code, timezone: 'Mars/Base' });
    await page.select('[name=site_code]', 'GRZ');
    await submit(page, 'main button.primary');
    expect(await textOf(page, '.field .error')).to.include('zone');
    expect(await valueOf(page, '[name=participant_code]')).to.equal(code);
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { timezone: 'Europe/Vienna' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, 'main'))
      .to.include('The participant is enrolled')
      .and.to.include(code);
    await page.goto(`${browser.base}/console/studies/${empty.id}/enroll`);
    await fill(page, { participant_code: code });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '.field .error')).to.equal('This code is already used in the study.');
    const { items } = await stage.admin.expect<{ items: { participant_code: string; site_code: string }[] }>(
      200,
      'GET',
      `/api/studies/${empty.id}/participants`,
    );
    expect(items.map((one) => [one.participant_code, one.site_code])).to.deep.equal([[code, 'GRZ']]);
    expect(faults).to.deep.equal([]);
  });

  it('shows what each waits for and what is next, and finds by code, external id and email', async () => {
    const person = await study.person({
      participant_code: unique('Søren'),
      external_id: unique('rec'),
      email: `${unique('who')}@example.org`,
    });
    await person.set(DAY);
    await person.override('2024-03-17', await study.as('coordinator'));
    const {
      participant_code,
      external_id,
      email: address,
    } = await stage.admin.expect<Record<string, string>>(200, 'GET', `/api/participants/${person.id}`);
    const other = await study.person();
    const { page } = await openConsole(browser, '/console/participants', { as: email });
    for (const [asked, inAddress] of [
      [participant_code!, true],
      [external_id!, true],
      [address!, false],
    ] as const) {
      await fill(page, { q: asked });
      await submit(page, 'form.inline button.primary');
      const said = await textOf(page, 'main table');
      expect(said, asked).to.include(participant_code).and.to.include('an approval of the requested date');
      expect(said).to.include('Final').and.to.include('10 Mar 2024');
      expect(await page.$$(`a[href="/console/participants/${other.id}"]`)).to.have.length(0);
      expect(page.url().includes('code='), asked).to.equal(inAddress);
      expect(page.url()).not.to.include('example.org');
    }
    await fill(page, { q: unique('nobody') });
    await submit(page, 'form.inline button.primary');
    expect(await textOf(page, '.empty')).to.include('Nobody was found');
    // The part of an address that is asked for by the page's own address finds nobody.
    const visitor = await signedIn();
    const { text } = await visitor.get(`/console/participants?code=${address!.split('@')[0]}`);
    expect(text).to.include('Nobody was found');
  });

  it('offers to enroll where somebody can be enrolled, and to those who may', async () => {
    const [running, ended] = [await stage.study(withApproval), await stage.study(withApproval)];
    await stage.admin.expect(200, 'PATCH', `/api/studies/${ended.id}`, { status: 'completed' });
    const own = { study_ids: [running.id, ended.id] };
    const [coordinator, manager] = await Promise.all(
      (['coordinator', 'data_manager'] as const).map(async (role) =>
        signedIn((await user(stage.admin, role, own)).email),
      ),
    );
    const page = async (who: Visitor, path: string) => (await who.get(path)).text;
    const link = ({ id }: { id: string }) => `href="/console/studies/${id}/enroll"`;
    expect(await page(coordinator!, `/console/studies/${running.id}`)).to.include(link(running));
    expect(await page(coordinator!, `/console/studies/${ended.id}`)).not.to.include(link(ended));
    expect(await page(manager!, `/console/studies/${running.id}`), 'who may not').not.to.include(link(running));
    expect(await page(coordinator!, `/console/participants?study=${ended.id}`))
      .to.include(`href="/console/studies/${ended.id}/import"`)
      .and.not.to.include(link(ended));
    const [choice] = /<form method="get" action="\/console\/enroll">.*?<\/form>/s.exec(
      await page(coordinator!, '/console/participants'),
    )!;
    expect(choice).to.include(running.id).and.not.to.include(ended.id);
    // By an address that was kept.
    expect(await page(coordinator!, `/console/studies/${ended.id}/enroll`)).to.include('It enrolls nobody.');
  });

  it('finds a code with an @, and shows all pages of a search by address without the address in any URL', async () => {
    const many = await stage.study(withApproval);
    const by = await signedIn(((await many.as('coordinator')) as unknown as { email: string }).email);
    const domain = `${unique('clinic')}.example.org`;
    await enrolled(many, 'M', 51, domain);
    await many.person({ participant_code: 'P@7' });
    const find = (fields: Record<string, string>) =>
      by.post('/console/participants', '/console/participants', { study: '', status: '', ...fields });
    expect((await find({ q: 'P@7' })).text)
      .to.include('>P@7<')
      .and.to.include('1 participant');
    const first = (await find({ q: `@${domain.toUpperCase()}` })).text;
    expect(first).to.include('51 participants').and.to.include('>M49<').and.not.to.include('>M50<');
    const [, skip] = /<button name="skip" value="(\d+)">Next page</.exec(first)!;
    const second = (await find({ q: `@${domain}`, skip: skip! })).text;
    expect(second).to.include('>M50<').and.to.include('>Previous page<').and.not.to.include('>M49<');
    expect(second).not.to.match(new RegExp(`href="[^"]*${domain}`));
  });

  it('has pages, and of other studies nothing', async () => {
    const many = await stage.study(withApproval);
    await enrolled(many, 'N', 52);
    const by = (await many.as('researcher')) as unknown as { email: string };
    const visitor = await signedIn(by.email);
    const first = (await visitor.get('/console/participants')).text;
    expect(first).to.include('52 participants').and.to.include('N49').and.not.to.include('>N50<');
    expect(first).to.include('1 to 50 of 52').and.to.include('>Next page<');
    expect(Buffer.byteLength(first)).to.be.lessThan(100_000);
    expect((await visitor.get('/console/participants?skip=50')).text)
      .to.include('N51')
      .and.not.to.include('>N49<');
    const manager = await signedIn(((await many.as('data_manager')) as unknown as { email: string }).email);
    expect((await manager.get('/console/participants')).text).not.to.include('/enroll"');
    expect((await manager.get(`/console/studies/${many.id}/enroll`)).status).to.equal(403);
    expect((await visitor.get(`/console/studies/${study.id}/enroll`)).status).to.equal(404);
  });

  it('offers somebody of some sites these alone: no other site, and not none', async () => {
    const many = await stage.study(withApproval);
    const [one, two] = [unique('ONE'), unique('TWO')];
    const ids: string[] = [];
    for (const site_code of [one, two, unique('OTHER')])
      ids.push((await stage.admin.expect(201, 'POST', `/api/studies/${many.id}/sites`, { site_code, name: null })).id);
    const offered = async (site_ids: string[]) => {
      const by = await user(stage.admin, 'coordinator', { study_ids: [many.id], site_ids });
      const { text } = await (await signedIn(by.email)).get(`/console/studies/${many.id}/enroll`);
      const [choice] = /<select id="field-site_code".*?<\/select>/s.exec(text)!;
      return [...choice.matchAll(/<option(?: value(?:="([^"]*)")?)?/g)].map(([, value]) => value ?? '');
    };
    expect(await offered([]))
      .to.have.length(4)
      .and.to.include('');
    expect(await offered([ids[0]!])).to.deep.equal([one]);
    // None is chosen for them.
    expect(await offered([ids[0]!, ids[1]!])).to.deep.equal(['', one, two]);
  });
});
