import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { mailPage } from './mail-page.js';
import { CHANNELS, type Channel, type MailStore, type StoredMail } from './mail-store.js';

interface Answer {
  status: number;
  type: string;
  body: string;
}
const json = (body: unknown, status = 200): Answer => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
});
const notFound = json({ error: 'not found' }, 404);
const LARGEST_MESSAGE = 1024 * 1024;

const notThisName = json({ error: 'the mail catcher answers at localhost and at IP addresses only' }, 403);

/** A catcher that listens elsewhere is open to its network. */
const listensHereAlone = (address: string): boolean => address === 'localhost' || /^(127\.|::1$)/.test(address);

/**
 * Whether a request came by a name of this machine. Any other may belong to a web page that has it point here (DNS
 * rebinding), whose scripts would read the mails as their own.
 */
function isByOwnName({ headers: { host } }: IncomingMessage): boolean {
  if (host === undefined) return true;
  const url = `http://${host}`;
  const name = URL.canParse(url) ? new URL(url).hostname : '';
  return /^(.+\.)?localhost$/.test(name) || isIP(name.replaceAll(/[[\]]/g, '')) > 0;
}

/**
 * The catcher over HTTP: `/` is a page; `/email`, `/email/{id}`, `/email/{id}/html|source` and `DELETE /email/{id}|all`
 * as in maildev, with its filter `/email?to.address=`; `POST /sms` and `POST /push` accept a gateway's
 * requests, `GET` lists them, `DELETE` clears them.
 * @param address that it will listen on
 */
export function mailHttp(store: MailStore, address: string): Server {
  const checksName = listensHereAlone(address);
  return createServer((request, response) => {
    if (checksName && !isByOwnName(request)) return send(response, notThisName);
    answer(store, request).then(
      (found) => send(response, found),
      (fault: Error) => send(response, json({ error: fault.message }, fault instanceof SyntaxError ? 400 : 500)),
    );
  });
}

async function answer(store: MailStore, request: IncomingMessage): Promise<Answer> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://catcher');
  const [top = '', id, view] = pathname.split('/').slice(1);
  const channel = CHANNELS.find((name) => name === top);
  if (channel && id === undefined) return messages(store, channel, request);
  if (request.method === 'DELETE' && top === 'email' && id !== undefined) {
    if (id !== 'all' && !store.mail(id)) return notFound;
    store.remove(id === 'all' ? undefined : id);
    return json(true);
  }
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return json({ error: `${request.method} is not known here` }, 405);
  if (top === '') return { status: 200, type: 'text/html; charset=utf-8', body: mailPage(store) };
  if (top === 'healthz') return json(true);
  if (top !== 'email') return notFound;
  if (id === undefined || id === '') return json(mailsTo(store, searchParams.get('to.address')));
  const mail = store.mail(id);
  if (!mail) return notFound;
  if (view === 'html') return { status: 200, type: 'text/html; charset=utf-8', body: mail.html };
  if (view === 'source') return { status: 200, type: 'text/plain; charset=utf-8', body: store.source(mail) };
  return view === undefined ? json(mail) : notFound;
}

/** The mails to an address; all of them without one. */
const mailsTo = (store: MailStore, wanted: string | null): readonly StoredMail[] =>
  wanted === null ? store.mails() : store.mails().filter(({ to }) => to.some(({ address }) => address === wanted));

async function messages(store: MailStore, channel: Channel, request: IncomingMessage): Promise<Answer> {
  if (request.method === 'POST') {
    const text = await bodyOf(request);
    const isJson = request.headers['content-type']?.includes('json') ?? false;
    const { id } = store.addMessage(
      channel,
      isJson ? JSON.parse(text) : text,
      request.headers['idempotency-key'] as string | undefined,
    );
    return json({ id, status: 'accepted' });
  }
  if (request.method === 'DELETE') {
    store.clearMessages(channel);
    return json(true);
  }
  return json(store.messages(channel));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_MESSAGE) throw new Error(`a message is at most ${LARGEST_MESSAGE} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, { status, type, body }: Answer): void {
  // A mail is untrusted text: it runs no scripts and loads nothing.
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups";
  response.writeHead(status, {
    'content-type': type,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}
