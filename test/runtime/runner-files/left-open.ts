/** Leaves a server open, for the runner's own test. */
import { createServer } from 'node:net';
import { expect } from 'chai';

it('leaves a server open', (done) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    expect(server.listening).to.equal(true);
    done();
  });
});
