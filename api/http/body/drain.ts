import type { Context } from 'koa';
import { hasBody } from './bytes.js';

/** After this long without bytes of a refused body, its sender is gone, or has read the answer and stopped sending. */
const STALL_MS = 5_000;

/**
 * Discards the rest of a body after its request was answered. Many clients read only after they have sent everything: a
 * connection closed before that reports a broken pipe instead of the refusal. The answer is sent at once; its
 * connection is closed for writing, and completely when the body ends. The server's limit for any request applies
 * (api/server.ts).
 * @param most bytes; a sender of more is cut off
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
  // The server closes a connection with this method after its last answer, even if bytes are still arriving.
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
