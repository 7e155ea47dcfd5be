import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { encryptionKeyBytes } from '../../settings.js';
import { EncryptionCodec } from '../../workflows/util/payload-codec.js';
import { Stage } from '../anchor/stage.js';
import { Stage as Capture } from '../capture/support.js';
import { clockIn, dayIn, daytimeZone } from '../notifications/stage.js';
import { Http, goodPassword, login, newParticipant, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { document } from '../support/contract.js';
import { Receiver } from '../support/receiver.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { payloadKeyOf } from '../support/temporal.js';
import { tracesIn, tracesInFiles, tracesInTables, tracesInWorkflows } from './traces-of.js';
import type { Marker } from './traces-of.js';

const word = (about: string): string => unique(`zq${about}`).replaceAll('-', '');
const zone = daytimeZone();
const day = (offset: number): string => dayIn(zone, offset);

/** Where what says who somebody is may stand in the database. Nowhere else, and in no file and no workflow at all. */
const PERSONAL_MAY_BE = [
  'participants.email',
  'participants.phone',
  'participants.date_of_birth',
  'form_instances.items',
  'users.email',
  'users.name',
  // The answer that a repeat under the same Idempotency-Key gets, for a day.
  'idempotency_keys.body',
  // A message to somebody who is no participant: it stands nowhere else until it is sent.
  'notifications.draft',
];

/** Where a secret that must be used again may stand, in the clear. All others are kept as hashes, or encrypted. */
const SECRET_MAY_BE: Record<string, string> = { 'a device’s token': 'push_tokens.token' };

/**
 * A service of its own lives through what the product is for, mistakes included; then everything that it left is read.
 */
describe('What a service leaves behind', function leaks() {
  this.timeout(240_000);
  let service: Service, stage: Stage, capture: Capture, receiver: Receiver;
  let root: Http, nobody: Http;
  const secrets: Marker[] = [],
    personal: Marker[] = [],
    erased: Marker[] = [];
  const ids: Record<string, string> = {};
  const secret = (name: string, value: string): string => {
    secrets.push({ name, word: value });
    return value;
  };
  const person = (name: string, value: string, gone = false): string => {
    (gone ? erased : personal).push({ name: gone ? `${name}, erased` : name, word: value });
    return value;
  };
  /** Of a signed token the part that makes it one. */
  const token = (name: string, value: string): string => {
    secret(name, value.split('.').at(-1)!);
    return value;
  };
  const post = <T = Loose>(path: string, body: unknown, status = 201, http = root): Promise<T> =>
    http.expect<T>(status, 'POST', path, body);

  before(async () => {
    service = await startService({
      LOG_LEVEL: 'debug',
      REMINDER_INTERVAL_SECONDS: '1',
      PUSH_RETRY_INITIAL_SECONDS: '1',
      EVENT_RETRY_INITIAL_SECONDS: '1',
    });
    receiver = await Receiver.open();
    stage = await Stage.open(service.run);
    capture = await Capture.on(service.run);
    root = stage.admin;
    nobody = new Http(root.base);
    secret('the admin’s password', service.run.admin_password ?? '');
    token('an access token', root.token!);
    await identities();
    await aStudy();
    await aCapturedStudy();
    await mistakes();
    await untilQuiet();
    await service.stop();
  });
  after(async () => {
    await capture?.clear();
    await stage?.close();
    await receiver?.close();
    await service?.stop();
  });

  async function identities(): Promise<void> {
    const email = person('a user’s address', `${word('staff')}@example.org`);
    const password = secret('a user’s password', `a good ${word('pass')} 42`);
    const made = await post('/api/auth/register', {
      email,
      name: person('a user’s name', word('name')),
      password,
      role: 'coordinator',
    });
    const entered = await login(root.base, email, password);
    secret('a refresh token', entered.tokens.refresh_token);
    const renewed = await post<{ refresh_token: string; access_token: string }>(
      '/api/auth/refresh',
      { refresh_token: entered.tokens.refresh_token },
      200,
      nobody,
    );
    secret('a renewed refresh token', renewed.refresh_token);
    const http = new Http(root.base, token('a renewed access token', renewed.access_token));
    const factor = await post<{ secret: string; recovery_codes: string[] }>('/api/auth/mfa/setup', {}, 200, http);
    secret('the secret of a second factor', factor.secret);
    for (const code of factor.recovery_codes) secret('a recovery code', code);
    await post('/api/auth/password/forgot', { email }, 202, nobody);
    secret('the token of a link to a user', await mailed(email, /token=([\w-]{43})/));
    const invited = person('the address of one invited', `${word('invited')}@example.org`);
    await post('/api/users/invite', { email: invited, name: 'New', role: 'coordinator' });
    secret('the token of an invitation', await mailed(invited, /token=([\w-]{43})/));
    ids.id = made.id;
  }

  async function aStudy(): Promise<void> {
    const policy = {
      prerequisites: { require_consent_signed: false },
      sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
      validation: { cannot_be_future: false },
    };
    const study = await stage.study(
      {},
      {
        days: [0, 1],
        fields: {
          consent_mode: 'external',
          timezone: zone,
          config: { enrollment_date_policy: policy, notifications: { send_at: clockIn(zone, -10) } },
        },
      },
    );
    const subscribed = await post(`/api/studies/${study.id}/event-subscriptions`, {
      url: `${receiver.url}/hook`,
      events: ['ENROLLMENT_DATE_SET'],
    });
    secret('the secret of a subscription', String(subscribed.secret));
    const minted = await post('/api/v1/tokens', {
      name: 'scan',
      scopes: ['participants:read'],
      study_ids: [study.id],
      expires_in_days: 1,
    });
    token('a scoped token', String(minted.token));
    await new Http(root.base, String(minted.token)).expect(200, 'GET', `/api/v1/studies/${study.id}/participants`);
    for (const gone of [false, true]) {
      const email = person('a participant’s address', `${word('mail')}@example.org`, gone),
        phone = person('a participant’s telephone', `+49 170 ${Math.floor(1e9 + Math.random() * 8e9)}`, gone);
      const { id } = await root.expect<Loose>(
        201,
        'POST',
        `/api/studies/${study.id}/participants`,
        { participant_code: unique('P'), email, phone, date_of_birth: '1961-02-03' },
        { headers: { 'Idempotency-Key': unique('key') } },
      );
      const of = `/api/studies/${study.id}/participants/${id}`;
      await post(`${of}/forms`, {
        form_oid: 'CONTACT',
        status: 'complete',
        items: { first_name: person('a name in a form', word('first'), gone) },
      });
      await post(`${of}/anchor-date`, { enrollment_date: day(0), reason: 'first visit' }, 200);
      await post('/api/portal/magic-link', { participant_id: id, channel: 'email' }, 202);
      const link = secret('the token of a link to the portal', await mailed(email, /\/portal\?token=([\w-]+)/));
      const portal = await post<{ portal_token: string }>('/api/portal/session', { token: link }, 200, nobody);
      token('a portal token', portal.portal_token);
      await post(
        '/api/notifications/register',
        { platform: 'ios', token: secret('a device’s token', word('device')) },
        200,
        new Http(root.base, portal.portal_token),
      ).catch((fault: Error) => {
        if (!/answered 201/.test(fault.message)) throw fault;
      });
      const visits = await root.expect<Loose>(200, 'GET', `/api/schedules/visits?participant_id=${id}`);
      const [first] = visits.items.filter((visit) => visit.target_date === day(0));
      const session = await post('/api/session/start', { participant_id: id, visit_id: first!.id });
      const credential = { headers: { 'X-Session-ID': String(session.sessionId) } };
      await nobody.expect(
        200,
        'POST',
        '/api/submit',
        { session_id: session.sessionId, task_summaries: { stroop: { mean_rt: 400 } }, raw_trials: [] },
        credential,
      );
      await nobody.expect(200, 'POST', '/api/session/end', { session_id: session.sessionId }, credential);
      await until(
        async () =>
          (await root.expect(200, 'GET', `/api/notifications?participant_id=${id}&kind=visit_reminder`)).items.some(
            ({ status }) => status === 'sent',
          ),
        { what: 'a reminder' },
      );
      Object.assign(
        ids,
        gone
          ? {}
          : {
              study_id: study.id,
              participant_id: id,
              visit_id: first!.id,
              session_id: String(session.sessionId),
              subscription_id: subscribed.id,
            },
      );
      if (gone) await post(`/api/participants/${id}/erase`, { reason: 'asked for it' }, 200);
    }
    const tested = person('the address of a test mail', `${word('test')}@example.org`);
    await post(`/api/studies/${study.id}/participants`, { participant_code: 'T-1', email: tested });
    await post('/api/test/email', { recipient: tested, subject: 'x', body: 'x' }, 202);
    const imported = `participant_code,email\nI-1,${person('an imported address', `${word('imported')}@example.org`)}\nI-2,${person('an imported address that is none', `${word('nonsense')}@@`)}\n`;
    await root.send('POST', `/api/studies/${study.id}/participants/import/csv`, undefined, {
      raw: { type: 'text/csv', content: imported },
    });
  }

  async function aCapturedStudy(): Promise<void> {
    const study = await capture.study();
    secret('a capture system’s token', study.token);
    secret('a webhook secret', study.secret);
    await study.enroll('1', {
      enrolled: day(0),
      code: 'C1',
      mail: person('a captured address', `${word('captured')}@example.org`),
      dob: '1955-05-05',
    });
    await study.settled(1);
    await study.trigger({ record: '1' }, { secret: secret('a wrong webhook secret', word('wrongsecret')) });
    // A capture system that quotes what it was sent.
    await study.configure({ api_token: secret('a wrong capture token', 'DEAD'.repeat(8)) });
    await capture.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
    await study.enroll('2', {
      enrolled: day(0),
      mail: person('an address that was not read', `${word('unread')}@example.org`),
    });
    await until(async () => (await study.events()).some(({ status, error }) => status === 'failed' && error), {
      timeout: 60_000,
      what: 'a trigger that fails',
    });
  }

  async function mistakes(): Promise<void> {
    const wrong = secret('a wrong password', word('wrongpassword'));
    const known = personal.find(({ name }) => name === 'a user’s address')!.word;
    await nobody.post('/api/auth/login', { email: known, password: wrong });
    await nobody.post('/api/auth/login', {
      email: person('an unknown address', `${word('unknown')}@example.org`),
      password: wrong,
    });
    await root.post('/api/auth/register', { email: known, name: 'Twice', password: goodPassword, role: 'coordinator' });
    await root.post(`/api/studies/${ids.study_id}/participants`, {
      participant_code: 'x',
      email: person('an address that is none', `${word('bad')}@`),
    });
    await root.send('POST', '/api/studies', undefined, {
      raw: { type: 'application/json', content: `{"study_code": "${secret('text of a broken body', word('broken'))}` },
    });
    for (const marker of [
      person('a word that was looked for', word('search')),
      secret('a token in a query', word('querytoken')),
    ]) {
      await root.get(`/api/participants?search=${marker}`);
      await nobody.get(`/api/${marker}/nothing`);
      await nobody.get(`/api/notifications/unsubscribe?token=${marker}`);
      await nobody.post('/api/portal/session', { token: marker });
      await new Http(root.base, marker).get('/api/studies');
    }
    const forged = createHmac('sha256', 'x').update('x').digest('base64url');
    await new Http(root.base, token('a forged token', `${root.token!.split('.').slice(0, 2).join('.')}.${forged}`)).get(
      '/api/studies',
    );
    await newParticipant(root, ids.study_id!, { participant_code: 'TWICE', external_id: 'TWICE' });
    await root.post(`/api/studies/${ids.study_id}/participants`, {
      participant_code: 'TWICE',
      email: person('the address of a refused row', `${word('refused')}@example.org`),
    });
  }

  /** The token of a link in a mail to an address. */
  async function mailed(address: string, pattern: RegExp): Promise<string> {
    return until(
      async () => {
        const mails = (await (await fetch(`${service.run.mail_ui}/email`)).json()) as {
          text: string;
          to: { address: string }[];
        }[];
        return mails
          .filter(({ to }) => to.some((one) => one.address === address))
          .map(({ text }) => pattern.exec(text)?.[1])
          .find((found) => found !== undefined);
      },
      { what: `a mail with a link` },
    );
  }

  const found: Record<'answers' | 'workflows' | 'tables', ReturnType<typeof tracesIn>> = {
    answers: [],
    workflows: [],
    tables: [],
  };
  let types = new Set<string>();
  /** Everything has been delivered; answers, histories and tables are read while there is somebody to ask. */
  async function untilQuiet(): Promise<void> {
    await until(async () => (await stage.sql('select id from outbox')).length === 0, {
      timeout: 60_000,
      what: 'all messages to be delivered',
    });
    await until(() => receiver.received.length > 0, { what: 'an event to be received' });
    for (const [template, methods] of Object.entries(document.paths)) {
      if (!methods.get || /\/(download|pdf|summary|plots)/.test(template)) continue;
      const path = template.replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) => ids[name] ?? '00000000-0000-4000-8000-000000000000',
      );
      const isList = JSON.stringify(methods.get).includes('"name":"limit"');
      const { text } = await root.get(isList ? `${path}?limit=500` : path);
      found.answers.push(...tracesIn(`GET ${template}`, text, [...secrets, ...erased]));
    }
    const key = encryptionKeyBytes(payloadKeyOf(service.run))!;
    const codec = new EncryptionCodec({ current: key, former: [] });
    const workflows = await tracesInWorkflows(stage.temporal, [...secrets, ...personal, ...erased], codec);
    found.workflows = workflows.traces;
    types = workflows.types;
    found.tables = await tracesInTables(stage, [...secrets, ...personal, ...erased]);
  }

  const told = (traces: ReturnType<typeof tracesIn>): string[] =>
    traces.map(({ name, place, near }) => `${name} in ${place}: … ${JSON.stringify(near)}`);

  it('has lived through all of it', () => {
    expect([...types]).to.include.members(['participantAnchor', 'datacaptureTrigger']);
    expect(receiver.received.length).to.be.greaterThan(0);
    expect(
      secrets.every(({ word: one }) => one.length >= 8) && personal.every(({ word: one }) => one.length >= 8),
    ).to.equal(true);
  });

  it('is no secret and no personal datum in the logs of any part, after an erasure as before', () => {
    const names = ['api.log', 'worker.log'];
    for (const name of names)
      expect(
        tracesInFiles(join(service.dataDir, 'logs'), (file) => file === name, [
          { name: 'what each log has', word: '"level":30' },
        ]),
        name,
      ).to.have.length(1);
    expect(
      told(tracesInFiles(join(service.dataDir, 'logs'), () => true, [...secrets, ...personal, ...erased])),
    ).to.deep.equal([]);
    expect(
      told(
        tracesIn('what the supervisor says', service.output().replaceAll(service.run.admin_password ?? '-', ''), [
          ...secrets,
          ...personal,
          ...erased,
        ]),
      ),
    ).to.deep.equal([]);
  });

  it('is none in a workflow’s history, memo, search attributes or summary, nor in the file of the workflow server', () => {
    expect(told(found.workflows)).to.deep.equal([]);
    expect(
      told(
        tracesInFiles(service.dataDir, (file) => file.startsWith('temporal.db'), [...secrets, ...personal, ...erased]),
      ),
    ).to.deep.equal([]);
  });

  it('is no secret in any table, and what is personal where it is kept, and nowhere else', () => {
    const isPersonal = new Set(personal.map(({ word: one }) => one));
    const names = new Set(personal.map(({ name }) => name));
    expect(isPersonal.size).to.be.greaterThan(10);
    expect(
      told(
        found.tables.filter(
          ({ name, place }) => SECRET_MAY_BE[name] !== place && !(names.has(name) && PERSONAL_MAY_BE.includes(place)),
        ),
      ),
    ).to.deep.equal([]);
    expect(
      found.tables.map(({ place }) => place),
      'the search finds what is there',
    ).to.include.members(['participants.email', 'users.email']);
  });

  it('is no secret in an answer but the one that gives it', () => {
    expect(told(found.answers)).to.deep.equal([]);
  });
});
