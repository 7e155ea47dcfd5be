import { expect } from 'chai';
import type { AnchorStudy } from '../anchor/stage.js';
import { enterPortal, tokenIn } from '../support/portal.js';
import { unique } from '../support/http.js';
import { until } from '../support/until.js';
import { Desk, clockIn, dayIn, daytimeZone } from './stage.js';
import type { Mail } from './stage.js';

const zone = daytimeZone();
const FACE = {
  public_name: { en: 'Memory & Sleep', de: 'Gedächtnis & Schlaf', fr: 'Mémoire & sommeil' },
  contact: { name: 'Dr Ada Byron', email: 'ada@example.org', phone: '+49 30 1234-56' },
};

describe('Mails to participants', function mails() {
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk.close());

  const studyWith = (config: Record<string, unknown>): Promise<AnchorStudy> =>
    desk.study(undefined, { config: { scheduling_mode: 'legacy', ...config } });
  const linkMail = async (study: AnchorStudy, preferred_language: string | null): Promise<Mail> => {
    const who = await desk.person(study, { preferred_language });
    await desk.stage.admin.expect(202, 'POST', '/api/portal/magic-link', { participant_id: who.id, channel: 'email' });
    const address = await desk.addressOf(who);
    return until(async () => (await desk.mailsTo(address))[0], { what: 'the mail with the link' });
  };

  it('with a link are in the participant’s language, name the study as participants know it, and whom to ask', async () => {
    const study = await studyWith(FACE);
    const { study_code } = await desk.stage.admin.expect<{ study_code: string }>(
      200,
      'GET',
      `/api/studies/${study.id}`,
    );
    for (const [language, subject, once, questions, button] of [
      ['en-GB', 'Your link to the study Memory & Sleep', 'works once', 'Questions?', 'Open my page'],
      ['de', 'Ihr Link zur Studie Gedächtnis & Schlaf', 'ein Mal', 'Fragen?', 'Meine Seite öffnen'],
      ['es', 'Su enlace al estudio Memory & Sleep', 'una sola vez', '¿Preguntas?', 'Abrir mi página'],
      ['fr-CA', 'Votre lien vers l’étude Mémoire & sommeil', 'une seule fois', 'Des questions ?', 'Ouvrir ma page'],
      ['it', 'Your link to the study Memory & Sleep', 'works once', 'Questions?', 'Open my page'],
    ] as const) {
      const mail = await linkMail(study, language);
      expect(mail.subject).to.equal(subject);
      expect(mail.text, language).to.include(once).and.include(questions).and.include('/portal?token=');
      expect(mail.text).to.include('Dr Ada Byron, ada@example.org, +49 30 1234-56').and.not.include(study_code);
      expect(mail.html)
        .to.include(`>${button}</a>`)
        .and.include(`/portal?token=${tokenIn(mail.text)!}`);
      expect(mail.html).not.to.include(study_code);
      const [tag] = /<html lang="[a-z]{2}"/.exec(mail.html)!;
      expect(tag).to.equal(`<html lang="${language === 'it' ? 'en' : language.slice(0, 2)}"`);
    }
  });

  it('without a public name or contact have the study’s name and no empty line about whom to ask', async () => {
    const study = await desk.study(undefined, { study_name: 'Plain study' });
    const mail = await linkMail(study, null);
    expect(mail.subject).to.equal('Your link to the study Plain study');
    expect(mail.text).not.to.match(/Questions|\{\{/);
  });

  it('with a link in the study’s own words are HTML as well, and may name the contact', async () => {
    const study = await studyWith({
      ...FACE,
      notifications: {
        languages: {
          uk: { magic_link: { subject: '{{public_name}}', body: 'Пишіть: {{contact_email}}\n\n{{link}}' } },
        },
      },
    });
    const mail = await linkMail(study, 'uk');
    expect([mail.subject, mail.text.split('\n')[0]]).to.deep.equal(['Memory & Sleep', 'Пишіть: ada@example.org']);
    expect(mail.html).to.include('lang="uk"').and.include('Пишіть').and.include(tokenIn(mail.text)!);
  });

  it('in a language of the study’s own have the rest in its default language, as the page that they open', async () => {
    const own = (body: string) => ({ subject: 'Дослідження', body });
    const study = await desk.study(
      { send_at: clockIn(zone, -10) },
      {
        timezone: zone,
        config: {
          notifications: {
            send_at: clockIn(zone, -10),
            default_language: 'de',
            languages: { uk: { magic_link: own('Посилання:\n\n{{link}}'), visit_reminder: own('Візит') } },
          },
        },
      },
    );
    const link = await linkMail(study, 'uk');
    expect(link.html).to.include('Посилання').and.include('>Meine Seite öffnen</a>');
    const who = await desk.person(study, { preferred_language: 'uk' });
    await desk.visit(who, dayIn(zone, 1));
    const address = await desk.addressOf(who);
    const reminder = await desk.sweep(async () => (await desk.mailsTo(address))[0], 'the reminder');
    for (const part of [reminder.text, reminder.html])
      expect(part)
        .to.include('Візит')
        .and.include('Keine weiteren Mails dieser Art: ')
        .and.not.match(/No more of these/);
  });

  it('say that a machine wrote them, and are numbered under the sender’s domain', async () => {
    const mail = await linkMail(await desk.study(undefined), 'en');
    expect(mail.headers['auto-submitted']).to.equal('auto-generated');
    expect(mail.messageId).to.match(/^<?[\w.-]+@example\.org>?$/);
    const email = `${unique('invited')}@example.org`;
    await desk.stage.admin.expect(201, 'POST', '/api/users/invite', { email, name: 'New', role: 'researcher' });
    const invitation = await until(async () => (await desk.mailsTo(email))[0], { what: 'the invitation' });
    expect(invitation.headers['auto-submitted']).to.equal('auto-generated');
    expect(invitation.html).to.include('>Choose a password</a>');
  });

  it('are ended by a page in the participant’s language that names the study', async () => {
    const study = await desk.study(
      { send_at: clockIn(zone, -10) },
      { timezone: zone, config: { ...FACE, notifications: { send_at: clockIn(zone, -10) } } },
    );
    const who = await desk.person(study, { preferred_language: 'de' });
    await desk.visit(who, dayIn(zone, 1));
    const address = await desk.addressOf(who);
    const mail = await desk.sweep(async () => (await desk.mailsTo(address))[0], 'the reminder');
    expect(mail.text).to.include('Studie Gedächtnis & Schlaf').and.include('Fragen? Ihr Studienteam: Dr Ada Byron');
    const link = mail.headers['list-unsubscribe']!.slice(1, -1);
    for (const [method, text] of [
      ['GET', 'Möchten Sie keine Nachrichten dieser Studie per E-Mail mehr bekommen?'],
      ['POST', 'Sie bekommen keine dieser Nachrichten mehr.'],
    ] as const)
      expect(await (await fetch(link, { method })).text())
        .to.include(text)
        .and.include('<html lang="de"')
        .and.include('Gedächtnis &amp; Schlaf');
  });

  it('name the study in the participant’s language, else in its default language, else in English', async () => {
    const names = { cs: 'Paměť', de: 'Gedächtnis', en: 'Memory' };
    for (const [public_name, notifications, languages] of [
      [names, { default_language: 'de-AT' }, { fr: 'Gedächtnis', it: 'Gedächtnis', en: 'Memory', cs: 'Paměť' }],
      [names, {}, { fr: 'Memory', it: 'Memory', de: 'Gedächtnis' }],
      // The text of another region is one in the language, and capture systems write a language with three letters.
      [
        { 'fr-CA': 'Mémoire', en: 'Memory', de: 'Gedächtnis' },
        {},
        { fr: 'Mémoire', fra: 'Mémoire', ger: 'Gedächtnis' },
      ],
    ] as const) {
      const study = await studyWith({ notifications, public_name });
      for (const [preferred_language, name] of Object.entries(languages)) {
        const who = await desk.person(study, { preferred_language });
        const visit = await desk.visit(who, dayIn('UTC', 30));
        const message = { visit_id: visit.id, kind: 'visit_reminder' };
        const { body } = await desk.stage.admin.expect<{ body: string }>(
          200,
          'POST',
          '/api/notifications/preview',
          message,
        );
        // Built-in words are not in Czech: their study has the name of the language that they are in.
        const inWords = preferred_language === 'cs' ? 'Gedächtnis' : name;
        expect(body, preferred_language).to.include(inWords);
        const { text } = await desk.stage.admin.get(`/api/participants/${who.id}/visits.ics`);
        expect(text, preferred_language).to.include(`X-WR-CALNAME:${name}`);
        const portal = await enterPortal(desk.stage.admin, who.id);
        const page = await portal.expect<{ study: { name: string } }>(200, 'GET', '/api/portal/overview');
        expect(page.study.name, preferred_language).to.equal(name);
      }
    }
  });

  it('take the participant’s language, then the study’s default language, then English; own words come first in each', async () => {
    const own = (subject: string) => ({ visit_reminder: { subject, body: '{{visit_name}}' } });
    const subjects = async (notifications: Record<string, unknown>, languages: readonly (string | null)[]) => {
      const study = await desk.study(notifications);
      const found: string[] = [];
      for (const preferred_language of languages) {
        const who = await desk.person(study, { preferred_language });
        const visit = await desk.visit(who, dayIn('UTC', 30));
        const { subject } = await desk.stage.admin.expect<{ subject: string }>(
          200,
          'POST',
          '/api/notifications/preview',
          { visit_id: visit.id, kind: 'visit_reminder' },
        );
        found.push(subject.split(/[: ]/)[0]!);
      }
      return found;
    };
    const asked = ['uk', 'en', 'de-AT', 'es', 'fr', 'it', null];
    const builtIn = ['Reminder', 'Erinnerung', 'Recordatorio', 'Rappel'];
    expect(await subjects({ languages: { uk: own('Українською') } }, asked)).to.deep.equal([
      'Українською',
      ...builtIn,
      'Reminder',
      'Reminder',
    ]);
    expect(
      await subjects({ default_language: 'uk', languages: { uk: own('Українською'), 'fr-CA': own('Bonjour') } }, asked),
    ).to.deep.equal(['Українською', ...builtIn.slice(0, 3), 'Bonjour', 'Українською', 'Українською']);
    expect(await subjects({ default_language: 'de', languages: { en: own('Welcome') } }, asked)).to.deep.equal([
      'Erinnerung',
      'Welcome',
      ...builtIn.slice(1),
      'Erinnerung',
      'Erinnerung',
    ]);
    // Languages as capture systems write them.
    expect(
      await subjects({ default_language: 'it', languages: { uk: own('Українською'), 'pt-BR': own('Olá') } }, [
        'ukr',
        'DEU_at',
        'ger',
        'fra',
        'por',
      ]),
    ).to.deep.equal(['Українською', 'Erinnerung', 'Erinnerung', 'Rappel', 'Olá']);
    // A default language without any words.
    expect(await subjects({ default_language: 'pl', languages: { en: own('Welcome') } }, ['it'])).to.deep.equal([
      'Welcome',
    ]);
  });

  it('a public name and a contact are refused by path where they cannot be shown', async () => {
    const study = await desk.study(undefined);
    for (const [config, path] of [
      [{ public_name: '' }, 'config.public_name'],
      [{ public_name: ' ' }, 'config.public_name'],
      [{ contact: { name: ' ' } }, 'config.contact.name'],
      [{ public_name: { 'no language': 'x' } }, 'config.public_name'],
      [{ contact: { email: 'nobody' } }, 'config.contact.email'],
      [{ contact: { fax: '1' } }, 'config.contact.fax'],
      [{ contact: 'Ada' }, 'config.contact'],
      [{ notifications: { default_language: '1' } }, 'config.notifications.default_language'],
    ] as const) {
      const answer = await desk.stage.admin.patch(`/api/studies/${study.id}`, { config });
      expect([answer.status, answer.body.code], path).to.deep.equal([422, 'VALIDATION_FAILED']);
      const paths = (answer.body.errors as { path: string }[]).map((one) => one.path);
      expect(
        paths.some((one) => one.startsWith(path)),
        `${path} in ${paths.join(' ')}`,
      ).to.equal(true);
    }
  });
});
