import { randomUUID } from 'node:crypto';
import { link, mkdir, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const HEARTBEAT = 2000;
const STALE = 20_000;
/** Most others only look whether there is something to do, which takes a moment. */
const SILENT = 5_000;

/**
 * Runs `work` while no other process of this checkout does: two starts at once install and build once.
 * The holder touches the file while it lives; one not touched for 20 s belongs to a process that was killed.
 * @template T
 * @param {string} path @param {() => Promise<T>} work
 * @param {(line: string) => void} say is told once that there is a wait, when it is longer than `silentMs`
 * @param {number} silentMs
 * @returns {Promise<T>}
 */
export async function withSetupLock(path, work, say, silentMs = SILENT) {
  await mkdir(dirname(path), { recursive: true });
  const mine = `${path}.${randomUUID()}`;
  await writeFile(mine, String(process.pid));
  const began = performance.now();
  let isTold = false;
  while (!(await tryTake(mine, path))) {
    if (!isTold && performance.now() - began >= silentMs) {
      say('another start of this checkout is installing or building; waiting for it');
      isTold = true;
    }
    await dropIfStale(path);
    await sleep(200);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch((fault) => say(`the lock ${path} was lost: ${fault.message}`));
  }, HEARTBEAT);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await Promise.all([mine, path].map((file) => unlink(file).catch(unlessGone)));
  }
}

/** A hard link is created atomically: "create if absent" together with its content. */
async function tryTake(mine, path) {
  try {
    await link(mine, path);
    const now = new Date();
    await utimes(path, now, now);
    return true;
  } catch (fault) {
    if (fault.code === 'EEXIST') return false;
    throw fault;
  }
}

async function dropIfStale(path) {
  const age = async (file) => Date.now() - (await stat(file)).mtimeMs;
  try {
    if ((await age(path)) < STALE) return;
    const aside = `${path}.${randomUUID()}`;
    await rename(path, aside);
    // Between check and rename another process may have taken the lock: then it gets it back.
    if ((await age(aside)) < STALE)
      await link(aside, path).catch((fault) => {
        if (fault.code !== 'EEXIST') throw fault;
      });
    await unlink(aside);
  } catch (fault) {
    unlessGone(fault);
  }
}

function unlessGone(fault) {
  if (fault.code !== 'ENOENT') throw fault;
}
