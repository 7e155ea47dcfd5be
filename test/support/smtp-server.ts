import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A mail that a server took, as it came. */
export interface TakenMail {
  to: string;
  messageId: string;
  source: string;
}
export interface Refusal {
  code: number;
  text: string;
}
/** What a server does with a recipient, the nth time that it is named; with a mail once it has all of it. */
export interface MailBehaviour {
  /** To the sender, before any recipient is named. */
  sender?: () => Refusal | undefined;
  recipient?: (address: string, count: number) => Refusal | undefined;
  /** To a mail once it has all of it, the nth time. */
  content?: (address: string, count: number) => Refusal | undefined;
  /** True: it takes the mail and breaks the connection off instead of answering. */
  losesAnswer?: (address: string, count: number) => boolean;
}

/** A real mail server that behaves as told, and keeps what it took. */
export class TestMailServer {
  readonly taken: TakenMail[] = [];
  private readonly named = new Map<string, number>();
  private constructor(private readonly server: SMTPServer) {}

  static async open(behaviour: MailBehaviour): Promise<TestMailServer> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      closeTimeout: 100,
      onMailFrom: (_address, _session, done) => {
        done(asError(behaviour.sender?.()));
      },
      onRcptTo: ({ address }, _session, done) => {
        done(asError(behaviour.recipient?.(address, mails.count(address))));
      },
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const source = Buffer.concat(chunks).toString('utf8'),
            to = session.envelope.rcptTo[0]!.address;
          const refusal = behaviour.content?.(to, mails.named.get(to) ?? 0);
          if (refusal) return done(asError(refusal));
          mails.taken.push({ to, source, messageId: /^Message-ID: (<[^>]+>)/im.exec(source)?.[1] ?? '' });
          if (!behaviour.losesAnswer?.(to, mails.to(to).length)) return done();
          for (const connection of (server as unknown as { connections: Set<{ id: string; _socket: Socket }> })
            .connections)
            if (connection.id === session.id) connection._socket.destroy();
        });
      },
    });
    const mails: TestMailServer = new TestMailServer(server);
    // What is broken off in the middle is told here.
    server.on('error', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    return mails;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }
  to(address: string): TakenMail[] {
    return this.taken.filter((mail) => mail.to === address);
  }
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  private count(address: string): number {
    const count = (this.named.get(address) ?? 0) + 1;
    this.named.set(address, count);
    return count;
  }
}

const asError = (refusal: Refusal | undefined): Error | undefined =>
  refusal && Object.assign(new Error(refusal.text), { responseCode: refusal.code });
