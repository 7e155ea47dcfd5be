import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import type { Server, TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { Client } from 'pg';
import { Stage } from '../anchor/stage.js';
import { unique } from '../support/http.js';
import { failedStart, service, startService } from '../support/service.js';
import type { RunJson } from '../support/service.js';

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** An authority, and what it has signed: certificates of the server and of its clients. */
class Authority {
  readonly folder = mkdtempSync(join(tmpdir(), 'research-assessment-tls-'));
  constructor() {
    this.run(
      'req',
      '-x509',
      ...EC,
      '-keyout',
      this.path('ca.key'),
      '-out',
      this.path('ca.pem'),
      '-subj',
      '/CN=authority',
    );
    this.sign('server', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
    this.sign('client', 'extendedKeyUsage=clientAuth');
  }
  path = (name: string): string => join(this.folder, name);
  read = (name: string): Buffer => readFileSync(this.path(name));
  clear = (): void => rmSync(this.folder, { recursive: true, force: true });

  private run(...args: string[]): void {
    execFileSync('openssl', args, { stdio: 'pipe' });
  }
  private sign(name: string, extension: string): void {
    const [key, request, extensions] = [this.path(`${name}.key`), this.path(`${name}.csr`), this.path(`${name}.ext`)];
    writeFileSync(extensions, `${extension}\n`);
    this.run('req', ...EC, '-keyout', key, '-out', request, '-subj', `/CN=${name}`);
    const by = ['-CA', this.path('ca.pem'), '-CAkey', this.path('ca.key'), '-CAcreateserial'];
    this.run('x509', '-req', '-in', request, ...by, '-extfile', extensions, '-out', this.path(`${name}.pem`));
  }
}

describe('a Temporal server behind TLS', function temporalTls() {
  this.timeout(240_000);
  const name = unique('tls').replaceAll('-', '_');
  let theirs: RunJson, owner: Client, authority: Authority, other: Authority, gate: Server;
  const admitted: TLSSocket[] = [];
  const names = new Set<string | string[] | undefined>();

  before(async function () {
    if (spawnSync('openssl', ['version']).status !== 0) this.skip();
    theirs = await service();
    [authority, other] = [new Authority(), new Authority()];
    const [host, port] = theirs.temporal.split(':') as [string, string];
    // Ends the TLS, and only admits clients with a certificate of the authority.
    gate = createServer(
      {
        key: authority.read('server.key'),
        cert: authority.read('server.pem'),
        ca: authority.read('ca.pem'),
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
      },
      (socket) => {
        admitted.push(socket);
        names.add(socket.getPeerCertificate().subject.CN);
        const behind = connect({ host, port: Number(port) });
        for (const [from, to] of [
          [socket, behind],
          [behind, socket],
        ] as const) {
          from.pipe(to);
          from.on('error', () => to.destroy());
        }
      },
    );
    await new Promise<void>((resolve) => gate.listen({ host: 'localhost', port: 0 }, resolve));
    owner = new Client({ connectionString: theirs.database_url });
    await owner.connect();
    await owner.query(`create database ${name}`);
  });
  after(async () => {
    for (const socket of admitted) socket.destroy();
    gate?.close();
    authority?.clear();
    other?.clear();
    await owner?.query(`drop database if exists ${name} with (force)`);
    await owner?.end();
  });

  const settings = () => {
    const database = new URL(theirs.database_url);
    database.pathname = `/${name}`;
    return {
      DATABASE_URL: database.toString(),
      TEMPORAL_ADDRESS: `localhost:${(gate.address() as AddressInfo).port}`,
      TEMPORAL_NAMESPACE: name,
      TEMPORAL_TASK_QUEUE: name,
      SMTP_URL: theirs.smtp!,
      TEMPORAL_TLS: 'true',
      TEMPORAL_TLS_CA_FILE: authority.path('ca.pem'),
      TEMPORAL_TLS_CERT_FILE: authority.path('client.pem'),
      TEMPORAL_TLS_KEY_FILE: authority.path('client.key'),
    };
  };

  it('is reached by every program of the service, which shows its certificate', async () => {
    const own = await startService(settings());
    try {
      const stage = await Stage.open({ ...own.run, temporal: theirs.temporal });
      try {
        const person = await (await stage.study({ prerequisites: { require_eligibility_confirmed: false } })).person();
        await person.consent('2024-03-01T09:00:00Z');
        await person.becomes({ status: 'finalized', enrollment_date: '2024-03-01' });
        const { dependencies } = await stage.admin.expect(200, 'GET', '/api/health/detailed');
        expect(dependencies).to.nested.include({ 'temporal.status': 'ok', 'worker.status': 'ok' });
      } finally {
        await stage.close();
      }
      expect([...names]).to.deep.equal(['client']);
      // The start that prepares it, the API, and the two connections of the worker.
      expect(admitted.length).to.be.at.least(4);
    } finally {
      await own.stop();
    }
  });

  it('that the service cannot trust, or that does not admit it, ends the start in a sentence', async () => {
    const count = admitted.length;
    for (const [what, wrong] of [
      ['another authority', { TEMPORAL_TLS_CA_FILE: other.path('ca.pem') }],
      [
        'a certificate of another authority',
        { TEMPORAL_TLS_CERT_FILE: other.path('client.pem'), TEMPORAL_TLS_KEY_FILE: other.path('client.key') },
      ],
      ['no TLS', { TEMPORAL_TLS: '', TEMPORAL_TLS_CA_FILE: '', TEMPORAL_TLS_CERT_FILE: '', TEMPORAL_TLS_KEY_FILE: '' }],
    ] as const) {
      const { code, output } = await failedStart({ ...settings(), ...wrong });
      expect([what, code], output).to.deep.equal([what, 1]);
      expect(output, what).to.match(/^The Temporal server at localhost:\d+ \(TEMPORAL_ADDRESS\) does not answer: /m);
    }
    expect(admitted.length, 'nobody was admitted').to.equal(count);
  });
});
