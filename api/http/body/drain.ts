import type { Context } from 'koa';
import { hasBody } from './bytes.js';

/**
 * Nothing has come for so long of a body that nobody waits for: its sender has gone, or has read the answer and keeps
 * the rest.
 */
const STALL_MS = 5_000;

/**
 * Lets pass by what has not come yet of a body when its request is answered. Many clients read only when they have sent
 * all of it: a connection that is closed under them tells them that it broke, and not why they were refused. The answer
 * goes out at once; the connection that ends with it is closed for writing, and for good when the body is through. How
 * long that may take is the server's limit for any request (api/server.ts).
 * @param most bytes; who sends more is cut off
 */
export function drainRequestBody({ req }: Context, most: number): void {
  if (!hasBody(req) || req.complete || req.destroyed) return;
  const { socket } = req;
  let left = most;
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  req.on('error', () => undefined);
  req.resume();
  // By this the server ends a connection when its last answer is out, whatever is still on its way to it.
  socket.destroySoon = () => {
    socket.end();
    const stalled = setTimeout(() => {
      socket.destroy();
    }, STALL_MS);
    req
      .on('data', () => {
        stalled.refresh();
      })
      .once('end', () => {
        socket.destroySoon();
      });
    socket.once('close', () => {
      clearTimeout(stalled);
    });
  };
  req.once('end', () => {
    Reflect.deleteProperty(socket, 'destroySoon');
  });
}
