import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { smsGateway } from '../../activities/notifications/sms.js';

describe('A gateway for text messages', () => {
  const message = { id: 'n1', to: '+491701234567', subject: '', text: 'secret words' };
  for (const [status, name] of [
    [422, 'RefusedMessage'],
    [503, 'Error'],
    [429, 'Error'],
    [302, 'Error'],
  ] as const) {
    it(`that answers ${status}: ${name}, telling nothing of the message`, async () => {
      const server = createServer((request, response) => {
        request.resume();
        response.writeHead(status, { Location: '/elsewhere' }).end('no');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const fault = await smsGateway(`http://127.0.0.1:${(server.address() as AddressInfo).port}/sms`)
        .send(message)
        .then(
          () => undefined,
          (thrown: Error) => thrown,
        );
      server.close();
      server.closeAllConnections();
      expect(fault?.name).to.equal(name);
      expect(fault?.message).not.to.include(message.to).and.not.include(message.text);
    });
  }
});
