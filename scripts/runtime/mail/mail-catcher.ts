/**
 * The mail catcher, a separate part: accepts every mail over SMTP and stores it instead of sending it, so that
 * development and tests see what participants would get. Text and push messages are caught over HTTP.
 */
import '../../../db/client/process/traces.js';
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { readSettings } from '../../../settings.js';
import { dataDirAt } from '../data-dir.js';
import { mailHttp } from './mail-http.js';
import { MailStore } from './mail-store.js';
import { endsWithSupervisor } from '../node-child.js';

const settings = readSettings();
const store = new MailStore(dataDirAt(settings.DATA_DIR).mail);
const http = mailHttp(store, settings.MAIL_HOST);
const smtp = new SMTPServer({
  disabledCommands: ['STARTTLS'],
  authOptional: true,
  // Accepts any name and password: settings for a real server work here, too.
  allowInsecureAuth: true,
  onAuth: (auth, _session, done) => done(null, { user: auth.username ?? 'anybody' }),
  onData: (stream, session, done) => {
    const { mailFrom, rcptTo } = session.envelope;
    const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) };
    stream
      .toArray()
      .then((chunks: Buffer[]) => store.add(Buffer.concat(chunks), envelope))
      .then(() => done(), done);
  },
});
smtp.on('error', (fault) => console.error(`SMTP: ${fault.message}`));

endsWithSupervisor(async () => {
  http.close();
  http.closeAllConnections();
  await new Promise<void>((done) => {
    smtp.close(done);
  });
});
http.listen({ host: settings.MAIL_HOST, port: settings.MAIL_UI_PORT });
smtp.listen({ host: settings.MAIL_HOST, port: settings.MAIL_PORT });
await Promise.all([once(http, 'listening'), once(smtp.server, 'listening')]);
process.send?.({ ready: true });
