/**
 * Loaded before a process by a test (NODE_OPTIONS=--import): tells, on a socket in the folder LOOP_TURNS, how long the
 * longest turn of its event loop was. In processor time of its main thread, which does not depend on who else uses the
 * machine. It counts while a connection is open, and keeps no process from ending.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/** What the measuring itself does at the beginning is not the process's. */
const WARM_TURNS = 3;
/**
 * Every turn that takes as long is looked at; shorter ones are counted together. To look after each would keep a
 * processor busy while the process only waits.
 */
const SHORTEST_MS = 1;

const usedMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6;

if (isMainThread) {
  let current;
  createServer((socket) => {
    const here = (current = {});
    let [turns, longest, began] = [0, 0, usedMs()];
    let before = began;
    const turn = () => {
      if (current !== here) return;
      const now = usedMs();
      turns += 1;
      if (turns <= WARM_TURNS) began = now;
      else longest = Math.max(longest, now - before);
      if (turns === WARM_TURNS) socket.write('counting\n');
      before = now;
      setTimeout(turn, SHORTEST_MS);
    };
    const end = () => {
      if (current === here) current = undefined;
    };
    setTimeout(turn, SHORTEST_MS);
    socket.once('data', () => {
      end();
      socket.end(JSON.stringify({ longest, total: usedMs() - began, turns }));
    });
    socket.once('close', end);
    socket.on('error', end);
  })
    .listen(join(process.env.LOOP_TURNS, `${process.pid}.sock`))
    .unref();
}
