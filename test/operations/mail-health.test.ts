import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { expect } from 'chai';
import { startApi } from '../support/api-process.js';

/** The port of mails that programs hand over (RFC 6409), to which they go where SMTP_URL names none. */
const SUBMISSION = 587;

describe('The health of the mail server', function () {
  this.timeout(120_000);
  const servers: Server[] = [];
  after(() => {
    for (const server of servers) server.close();
  });

  /** Undefined: this machine or account has no such address or port. */
  async function listening(host: string, port: number): Promise<number | undefined> {
    const server = createServer((socket) => socket.on('error', () => undefined).end('220 mail.example.org\r\n'));
    try {
      server.listen(port, host);
      await once(server, 'listening');
    } catch (fault) {
      if (['EACCES', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes((fault as { code?: string }).code ?? ''))
        return undefined;
      throw fault;
    }
    servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  async function mailOf(SMTP_URL: string): Promise<unknown> {
    const api = await startApi({ SMTP_URL });
    try {
      const answer = await fetch(`${api.url}/api/health/detailed`);
      const { dependencies } = (await answer.json()) as { dependencies: { mail: { status: string } } };
      return dependencies.mail.status;
    } finally {
      await api.stop();
    }
  }

  it('is asked of where mails go: without a port in SMTP_URL, at that of submission', async function () {
    // A loopback address of its own: nothing else listens there.
    const host = `127.${randomInt(2, 254)}.${randomInt(2, 254)}.${randomInt(2, 254)}`;
    if ((await listening(host, SUBMISSION)) === undefined) return this.skip();
    expect(await mailOf(`smtp://${host}`)).to.equal('ok');
  });

  it('is asked of a server with an IPv6 address', async function () {
    const port = await listening('::1', 0);
    if (port === undefined) return this.skip();
    expect(await mailOf(`smtp://[::1]:${port}`)).to.equal('ok');
  });
});
