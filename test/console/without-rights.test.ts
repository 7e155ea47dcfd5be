import { expect } from 'chai';
import { user } from '../support/http.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { Visitor } from './stage.js';

const permissions = { can_set: ['admin', 'coordinator'], can_override: ['admin'] };
const waitsForFacts = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: true, require_eligibility_confirmed: true },
  permissions,
};

/** What pages say to who may not do what they are about. */
describe('a page of the console, for a role that may not go on there', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  /** The text of a participant's page for each of these roles. */
  const readers = async (study: AnchorStudy, id: string) => {
    const of = new Map<string, Visitor>();
    return async (role: 'coordinator' | 'investigator' | 'data_manager', tab: string, language = 'en') => {
      const by =
        of.get(role) ?? (await Visitor.of(stage.run.api, ((await study.as(role)) as { email?: string }).email!));
      of.set(role, by);
      const path = `/console/participants/${id}?tab=${tab}`;
      const { status, text } = await by.send('GET', path, undefined, { 'accept-language': language });
      expect(status).to.equal(200);
      return text;
    };
  };
  /** Where the sentence on what is waited for leads. */
  const next = (page: string) => /class="notice[^>]*>.*?<a href="[^"]*(\?[^"]*)">([^<]*)</s.exec(page)?.slice(1, 3);

  it('leads nobody to record a date who may not, and says who may; who may override a final one', async () => {
    const prerequisites = { require_consent_signed: false };
    const study = await stage.study({ sources: [{ type: 'manual_entry' }], prerequisites, permissions });
    const person = await study.person();
    const page = await readers(study, person.id);
    const who = 'A date is entered by admins and coordinators.';
    const [may, not] = [await page('coordinator', 'date'), await page('investigator', 'date')];
    expect(next(may)).to.deep.equal(['?tab=date', 'Record a date']);
    expect(may).to.include('Date</label>').and.not.include(who);
    expect(next(not)).to.deep.equal(['?tab=date', 'Enrollment date']);
    expect(not).to.include(who).and.not.include('Date</label>');
    expect(await page('data_manager', 'date')).to.include(who);
    expect(await page('data_manager', 'date', 'de')).to.include('Ein Datum tragen ein: Administration, Koordination.');
    await person.set(DAY);
    const final = await page('coordinator', 'date');
    expect(final).to.include('A final date is overridden by admins.').and.not.include(who);
  });

  it('leads to the fact that the reader may record, and says who records another one', async () => {
    const study = await stage.study(waitsForFacts, { fields: { consent_mode: 'econsent' } });
    const person = await study.person();
    await person.set(DAY);
    const page = await readers(study, person.id);
    const consents = 'A consent is recorded by admins, researchers, coordinators and investigators.';
    const eligibility = 'The eligibility is confirmed by admins, researchers and investigators.';
    const step = ['?tab=facts', 'Record it'];
    const coordinator = await page('coordinator', 'facts');
    expect(next(coordinator)).to.deep.equal(step);
    expect(coordinator).to.include(eligibility).and.not.include(consents);
    const investigator = await page('investigator', 'facts');
    expect(next(investigator)).to.deep.equal(step);
    expect(investigator).to.not.include(eligibility).and.not.include(consents);
    const reader = await page('data_manager', 'facts');
    expect(next(reader)).to.deep.equal(['?tab=facts', 'Consent and eligibility']);
    expect(reader).to.include(eligibility).and.include(consents);
    expect(await page('data_manager', 'facts', 'de'))
      .to.include('Die Eignung bestätigen: Administration, Forschung, Prüfärztinnen und Prüfärzte.')
      .and.include('Eine Einwilligung erfassen: ');
  });

  it('tells nobody to enroll the first participant who may only import', async () => {
    const study_ids = [(await stage.study()).id];
    const list = async (role: 'coordinator' | 'data_manager') => {
      const { email } = await user(stage.admin, role, { study_ids });
      return (await (await Visitor.of(stage.run.api, email)).get('/console/participants')).text;
    };
    expect(await list('coordinator')).to.include('Enroll the first one, or import a file.');
    expect(await list('data_manager'))
      .to.include('Import a file with the first ones.')
      .and.not.include('Enroll the');
  });

  it('says to who is in no study that there is none, in place of lists that stay empty', async () => {
    const { email } = await user(stage.admin, 'coordinator');
    const visitor = await Visitor.of(stage.run.api, email);
    for (const page of ['inbox', 'today', 'participants', 'studies', 'reports'])
      expect((await visitor.get(`/console/${page}`)).text, page).to.include('then assigns you to it');
    expect((await visitor.get('/console/today')).text).not.to.include('No visit is in its window');
  });
});
