import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { RefusedMessage } from '../../activities/notifications/provider.js';
import { pushGateway } from '../../activities/notifications/push.js';
import { smsGateway } from '../../activities/notifications/sms.js';

/** While a gateway is updated, or its address is mistyped, the web server before it answers 404 for all messages. */
describe('A page of a web server before a gateway', () => {
  const message = { id: 'n1', to: 'a device', subject: 'Come', text: 'words' };
  const unregistered = '{"error":{"code":404,"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}';
  const outcome = async (name: 'sms' | 'push', status: number, body: string) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status).end(body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/send`;
    try {
      await (name === 'sms' ? smsGateway(url) : pushGateway(url)).send(message);
      return 'sent';
    } catch (fault) {
      if (!(fault instanceof RefusedMessage)) return (fault as { code?: string }).code;
      return fault.addressIsGone ? 'gone' : 'refused';
    } finally {
      server.close();
      server.closeAllConnections();
    }
  };

  for (const page of ['<html><h1>404 Not Found</h1><hr>nginx</html>', 'default backend - 404', '404 page not found\n'])
    it(`says nothing of a device or a message: ${JSON.stringify(page.slice(0, 24))}`, async () => {
      expect(await outcome('push', 404, page)).to.equal('PUSH_404');
      expect(await outcome('sms', 404, page)).to.equal('SMS_404');
    });

  it('is not what a gateway answers of a device that it does not know', async () => {
    expect(await outcome('push', 404, unregistered)).to.equal('gone');
    expect(await outcome('push', 404, '')).to.equal('gone');
    expect(await outcome('push', 410, '')).to.equal('gone');
    expect(await outcome('push', 400, 'INVALID_ARGUMENT')).to.equal('gone');
    expect(await outcome('push', 400, '<html>bad</html>')).to.equal('refused');
    expect(await outcome('sms', 404, '{"error":"no such number"}')).to.equal('refused');
    expect(await outcome('sms', 400, 'no such number')).to.equal('refused');
  });
});
