import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTransport } from 'nodemailer';
import type { StoredMail } from '../../scripts/runtime/mail/mail-store.js';
import { root, testEnvironment } from '../support/environment.js';
import { freePorts } from '../support/ports.js';
import { compiled } from '../support/program.js';
import { temporaryDataDir } from '../support/service.js';

describe('the mail catcher', () => {
  const dataDir = temporaryDataDir();
  let catcher: ChildProcess;
  let ports: { MAIL_PORT: string; MAIL_UI_PORT: string };
  let base: string;

  const start = async () => {
    const env = testEnvironment({ DATA_DIR: dataDir, ...ports });
    catcher = spawn(process.execPath, [compiled('scripts/runtime/mail/mail-catcher')], {
      cwd: root,
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const [message] = (await once(catcher, 'message')) as [unknown];
    expect(message).to.deep.equal({ ready: true });
  };
  const end = async (how: NodeJS.Signals) => {
    catcher.kill(how);
    await once(catcher, 'exit');
  };
  const json = async (path: string, init?: RequestInit): Promise<unknown> =>
    (await fetch(`${base}${path}`, init)).json();
  const mails = async () => (await json('/email')) as StoredMail[];
  const post = (path: string, body: string) =>
    json(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const send = (subject: string) =>
    createTransport({ host: '127.0.0.1', port: Number(ports.MAIL_PORT) }).sendMail({
      from: 'Study Desk <desk@example.org>',
      to: 'Zoë <zoe@example.org>, b@example.org',
      bcc: 'hidden@example.org',
      subject,
      text: 'Your visit <is> due',
      html: '<p>Your visit is <b>due</b></p>',
      headers: { 'X-Kind': 'reminder' },
      attachments: [{ filename: 'visit.ics', content: 'BEGIN:VCALENDAR' }],
    });

  before(async () => {
    const { MAIL_PORT, MAIL_UI_PORT } = await freePorts(['MAIL_PORT', 'MAIL_UI_PORT']);
    ports = { MAIL_PORT: String(MAIL_PORT), MAIL_UI_PORT: String(MAIL_UI_PORT) };
    base = `http://127.0.0.1:${MAIL_UI_PORT}`;
    await start();
  });
  after(() => end('SIGTERM'));

  it('keeps a mail and shows it in the shape that maildev has', async () => {
    await send('Visit – Größe');
    const [mail] = await mails();
    expect(mail).to.deep.include({
      subject: 'Visit – Größe',
      from: [{ address: 'desk@example.org', name: 'Study Desk' }],
    });
    expect(mail?.to).to.deep.equal([
      { address: 'zoe@example.org', name: 'Zoë' },
      { address: 'b@example.org', name: '' },
    ]);
    expect(mail?.html.trim()).to.equal('<p>Your visit is <b>due</b></p>');
    expect(mail?.text.trim()).to.equal('Your visit <is> due');
    expect(mail?.headers['x-kind']).to.equal('reminder');
    expect(mail?.attachments.map(({ fileName }) => fileName)).to.deep.equal(['visit.ics']);
    expect(mail?.envelope.to).to.include('hidden@example.org');
    expect(await json(`/email/${mail?.id}`)).to.deep.equal(mail);
    expect(await json('/email?to.address=b%40example.org')).to.deep.equal([mail]);
    expect(await json('/email?to.address=nobody%40example.org')).to.deep.equal([]);
    expect(await (await fetch(`${base}/email/${mail?.id}/source`)).text()).to.contain('X-Kind: reminder');
  });

  it('takes what comes again, by Message-ID or Idempotency-Key, for what it has', async () => {
    const again = () =>
      createTransport({ host: '127.0.0.1', port: Number(ports.MAIL_PORT) }).sendMail({
        from: 'desk@example.org',
        to: 'again@example.org',
        subject: 'Again',
        text: 'x',
        messageId: '<once@example.org>',
      });
    for (let i = 0; i < 2; i++) await again();
    const kept = (await mails()).filter(({ subject }) => subject === 'Again');
    expect(kept.map(({ repeated }) => repeated)).to.deep.equal([1]);
    await json(`/email/${kept[0]!.id}`, { method: 'DELETE' });
    const text = () =>
      json('/sms', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
        body: '{"to":"1"}',
      });
    expect(await text()).to.deep.equal(await text());
    expect(await json('/sms')).to.have.length(1);
    await json('/sms', { method: 'DELETE' });
  });

  it('shows a page that carries a mail as text, not as markup', async () => {
    const page = await fetch(base);
    expect(page.headers.get('content-security-policy')).to.contain('sandbox');
    expect(await page.text())
      .to.contain('Your visit &lt;is> due')
      .and.to.contain('Visit – Größe');
  });

  it('answers no page of another name that points to this machine', async () => {
    const statusAt = async (host: string, path = '/email') => {
      const asked = request(`${base}${path}`, { headers: { host } }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    const port = ports.MAIL_UI_PORT;
    for (const host of ['rebound.example.org', `rebound.example.org:${port}`, 'localhost.example.org', 'a b'])
      for (const path of ['/', '/email', '/sms']) expect(await statusAt(host, path), host).to.equal(403);
    for (const host of [`localhost:${port}`, 'LOCALHOST', `127.0.0.1:${port}`, `[::1]:${port}`, 'mail.localhost'])
      expect(await statusAt(host), host).to.equal(200);
  });

  it('catches text and push messages', async () => {
    expect(await post('/sms', '{"to":"+49 30 1","text":"due"}')).to.include({ status: 'accepted' });
    await post('/push', '{"to":"device-1"}');
    expect(((await json('/sms')) as { body: unknown }[]).map(({ body }) => body)).to.deep.equal([
      { to: '+49 30 1', text: 'due' },
    ]);
    expect(await json('/push')).to.have.length(1);
    expect(
      (await fetch(`${base}/sms`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }))
        .status,
    ).to.equal(400);
  });

  it('has everything still after it was killed', async () => {
    await end('SIGKILL');
    await start();
    expect((await mails()).map(({ subject }) => subject)).to.deep.equal(['Visit – Größe']);
    expect(await json('/sms')).to.have.length(1);
  });

  it('starts on what a power cut or a full disk has left incomplete, and keeps what is whole', async () => {
    await end('SIGKILL');
    const folder = join(dataDir, 'mail');
    writeFileSync(join(folder, '20260101T000000000Z-00000000.json'), '');
    appendFileSync(join(folder, 'sms.jsonl'), '{"id":"20260101T0000');
    await start();
    await post('/sms', '{"to":"+49 30 2","text":"next"}');
    await end('SIGKILL');
    await start();
    expect((await mails()).map(({ subject }) => subject)).to.deep.equal(['Visit – Größe']);
    expect(((await json('/sms')) as { body: { to: string } }[]).map(({ body }) => body.to)).to.deep.equal([
      '+49 30 1',
      '+49 30 2',
    ]);
  });

  it('removes one mail or all', async () => {
    await send('second');
    const [first] = await mails();
    await json(`/email/${first?.id}`, { method: 'DELETE' });
    expect((await mails()).map(({ subject }) => subject)).to.deep.equal(['second']);
    expect((await fetch(`${base}/email/${first?.id}`)).status).to.equal(404);
    await json('/email/all', { method: 'DELETE' });
    expect(await mails()).to.deep.equal([]);
    expect(readdirSync(join(dataDir, 'mail')).filter((name) => name.endsWith('.eml'))).to.deep.equal([]);
  });
});
