import { expect } from 'chai';
import { postForm } from '../../activities/capture/client/http.js';
import { postEvent } from '../../activities/events/post.js';
import { postBytes } from '../../activities/notifications/post-bytes.js';
import { Receiver } from '../support/receiver.js';
import { whereNamesLeadHome } from '../support/rebound.js';

/** Each way in which the service calls an address that somebody entered: what came of it, in words. */
const callers: Record<string, (url: string, allowPrivate: boolean) => Promise<string>> = {
  'the capture system': async (url, allowPrivate) => {
    const limits = { allowPrivate, timeoutMs: 5_000, maxBytes: 1_000 };
    return String((await postForm(url, new URLSearchParams({ token: 'secret' }), limits)).status);
  },
  'a subscriber': async (url, allowPrivate) => {
    const { status, error } = await postEvent(url, {}, '{}', { allowPrivate, timeoutMs: 5_000 });
    return error ?? String(status);
  },
  'a push service': async (url, allowPrivate) =>
    String((await postBytes(url, {}, Buffer.from('x'), { allowPrivate })).status),
};

/** The check of an address when it is saved can't know where its name leads to later. */
describe('A name that leads to a private address when it is called', () => {
  let inside: Receiver;
  before(async () => {
    inside = await Receiver.open();
  });
  after(() => inside.close());

  for (const [who, call] of Object.entries(callers))
    it(`is refused for ${who}: nothing is sent`, async () => {
      const path = `/${who.replaceAll(' ', '-')}`;
      const url = `http://inner.rebound.example.org:${new URL(inside.url).port}${path}`;
      await whereNamesLeadHome(async () => {
        const refused = await call(url, false).catch((fault: Error) => fault.message);
        expect(refused).to.include('private');
        expect(inside.at(path)).to.deep.equal([]);
        expect(await call(url, true), 'where it is allowed, it arrives').to.equal('204');
      });
    });
});
