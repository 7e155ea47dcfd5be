/** A mail server in a process of its own that keeps of each mail what it is known by, and counts. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { answer } from './child.js';

/**
 * Mails that came; how many different ones a mailbox would show (one Message-ID is one mail); recipients that have more
 * than one.
 */
export interface Caught {
  mails: number;
  shown: number;
  doubled: number;
}

let mails = 0;
const shown = new Map<string, string>();
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  closeTimeout: 100,
  onData: (stream, session, done) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
    });
    stream.on('end', () => {
      const id = /^Message-ID: (<[^>]+>)/im.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
      if (id === undefined) return done(new Error('a mail without a Message-ID'));
      mails += 1;
      shown.set(id, session.envelope.rcptTo[0]?.address ?? '');
      done();
    });
  },
});
// Who is killed breaks its connections off.
server.on('error', () => undefined);
server.listen(0, '127.0.0.1');
await once(server.server, 'listening');

answer<'count' | 'clear', Caught>(
  { url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}` },
  async (question) => {
    if (question === 'clear') {
      mails = 0;
      shown.clear();
    }
    return { mails, shown: shown.size, doubled: shown.size - new Set(shown.values()).size };
  },
);
