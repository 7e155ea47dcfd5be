import { expect } from 'chai';
import { postEvent } from '../../activities/events/post.js';
import { postBytes } from '../../activities/notifications/post-bytes.js';
import { Receiver } from '../support/receiver.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { unique } from '../support/http.js';
import { Desk } from './stage.js';

describe('What no message could be sent by is refused when it is saved', () => {
  let desk: Desk;
  let study: AnchorStudy;
  before(async () => {
    desk = await Desk.open();
    study = await desk.study({});
  });
  after(() => desk.close());

  for (const [field, value] of [
    ['email', 'nobody'],
    ['email', 'no body@example.org'],
    ['email', 'nobody@'],
    ['email', '<nobody@example.org>\r\nBcc: all@example.org'],
    ['phone', 'call me'],
    ['phone', ''],
    ['timezone', 'Mars/Olympus'],
    ['timezone', '+02:00'],
    ['timezone', ''],
    ['preferred_language', 'no language'],
  ] as const) {
    it(`a participant’s ${field} ${JSON.stringify(value)}`, async () => {
      const { admin } = desk.stage;
      const person = await desk.person(study);
      for (const answer of [
        await admin.post(`/api/studies/${study.id}/participants`, { participant_code: unique('P'), [field]: value }),
        await admin.patch(`/api/participants/${person.id}`, { [field]: value }),
      ]) {
        expect([answer.status, answer.body.errors?.[0]?.path], answer.text).to.deep.equal([422, field]);
      }
    });
  }

  for (const zone of ['Mars/Olympus', '+02:00', 'CET/nonsense']) {
    it(`the zone ${zone} of a study or a site`, async () => {
      const { admin } = desk.stage;
      for (const answer of [
        await admin.post('/api/studies', { study_code: unique('S'), study_name: 'x', timezone: zone }),
        await admin.patch(`/api/studies/${study.id}`, { timezone: zone }),
        await admin.post(`/api/studies/${study.id}/sites`, { site_code: unique('A'), timezone: zone }),
      ]) {
        expect([answer.status, answer.body.errors?.[0]?.path], answer.text).to.deep.equal([422, 'timezone']);
      }
    });
  }

  for (const [what, template, path] of [
    ['names a variable that there is not', { subject: 'Hello', body: '{{participant_name}}' }, 'body'],
    ['names one in its subject', { subject: '{{email}}', body: 'x' }, 'subject'],
    ['names one in single braces', { subject: 'x', body: 'Dear {name}' }, 'body'],
    ['has no body', { subject: 'x', body: '' }, 'body'],
  ] as const) {
    it(`a template that ${what}`, async () => {
      const answer = await desk.stage.admin.patch(`/api/studies/${study.id}`, {
        config: { notifications: { languages: { en: { visit_reminder: template } } } },
      });
      expect([answer.status, answer.body.errors?.[0]?.path], answer.text).to.deep.equal([
        422,
        `config.notifications.languages.en.visit_reminder.${path}`,
      ]);
    });
  }
});

describe('An address inside of a private network is not called where that is forbidden', () => {
  let inside: Receiver;
  before(async () => {
    inside = await Receiver.open();
  });
  after(() => inside.close());

  for (const [what, host] of [
    ['spelled out', '127.0.0.1'],
    ['as a number', '2130706433'],
    ['of IPv6', '[::ffff:127.0.0.1]'],
    ['behind the name localhost', 'localhost'],
  ] as const) {
    it(what, async () => {
      const url = `http://${host}:${new URL(inside.url).port}/x`;
      const posted = await postEvent(url, {}, '{}', { allowPrivate: false, timeoutMs: 5_000 });
      expect([posted.status, posted.error]).to.deep.equal([
        null,
        'the url points to a private address, which ALLOW_PRIVATE_URLS forbids here',
      ]);
      const fault = await postBytes(url, {}, Buffer.from('x'), { allowPrivate: false }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect([fault?.name, fault?.message]).to.deep.equal([
        'RefusedMessage',
        'the push service has a private address, which ALLOW_PRIVATE_URLS forbids here',
      ]);
      expect(inside.received).to.deep.equal([]);
    });
  }
});
