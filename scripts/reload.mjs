import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build, builtSources, sourceFolders } from './compile.mjs';
import { setupLock } from './prepare.mjs';
import { say as report } from './progress.mjs';
import { withSetupLock } from './setup-lock.mjs';

/** A save causes several events, and "save all" several saves. */
const QUIET_MS = 50;
/** Files of the checkout's root that affect the service's start, besides settings.ts. */
const STARTED_BY = new Set(['.env', 'package-lock.json', 'tsconfig.json']);
const NEW_START = 'restart "npm run dev" to use it';

/**
 * Builds after each save, and starts the API, the worker or both again with the new code. PostgreSQL, Temporal and the
 * mail catcher go on; so do the old processes while the sources do not compile.
 * @param {string} root the checkout
 * @param {Record<string, string>} built the hashes of the sources that the service runs
 * @param {import('./runtime/supervisor.js').RunningService} service
 */
export async function reloadOnSave(root, built, { databaseUrl, restart, say, stopped }) {
  const changes = new Changes(root);
  stopped.addEventListener('abort', () => changes.close(), { once: true });
  // Otherwise the first build would load the compiler.
  await Promise.all([changes.watch(await sourceFolders(root)), import('typescript')]);
  say('watching the sources: a saved change is in use within seconds');
  let running = built;
  // Changes made during the start are handled first.
  do {
    for (const name of changes.takeStartedBy()) say(`${name} was changed: ${NEW_START}`);
    const began = performance.now();
    try {
      await withSetupLock(setupLock, () => build(root), report);
      const sources = await builtSources(root);
      const changed = changedIn(running, sources);
      running = sources;
      const parts = partsOf(changed);
      for (const path of changed.filter((one) => one.startsWith('scripts/'))) say(`${path} was changed: ${NEW_START}`);
      if (changed.includes('settings.ts')) say(`settings.ts was changed: for ports and servers, ${NEW_START}`);
      if (changed.some((path) => path.startsWith('db/migrations/'))) await migrate(root, databaseUrl, say, stopped);
      if (parts.length > 0) await restart(parts);
      if (parts.length > 0 && !stopped.aborted)
        say(
          `${named(changed)}: ${parts.join(' and ')} restarted in ${((performance.now() - began) / 1000).toFixed(1)} s`,
        );
    } catch (fault) {
      if (!stopped.aborted) say(`${fault.message}\nthe processes that run go on; save again when it is fixed`);
    }
    await changes.watch(await sourceFolders(root));
  } while (await changes.next());
}

/** File events of single folders: inotify is not recursive, and a file that an editor replaces stays in its folder. */
class Changes {
  #watchers = new Map();
  #startedBy = new Set();
  #changed = false;
  #closed = false;
  #failed;
  #wake = () => undefined;

  constructor(root) {
    this.root = root;
    this.#open('', (name) => {
      if (STARTED_BY.has(name)) this.#startedBy.add(name);
      return name === 'settings.ts' || STARTED_BY.has(name);
    });
  }

  /** Watches exactly these folders. */
  watch(folders) {
    for (const [folder, watcher] of this.#watchers)
      if (folder !== '' && !folders.includes(folder)) {
        watcher.close();
        this.#watchers.delete(folder);
      }
    if (this.#closed) return;
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#open(folder, () => true);
  }

  takeStartedBy() {
    const names = [...this.#startedBy];
    this.#startedBy.clear();
    return names;
  }

  /** Waits for a save and for the quiet after it. @returns false when watching has ended */
  async next() {
    while (!this.#changed && !this.#closed)
      await new Promise((resolve) => {
        this.#wake = resolve;
      });
    while (this.#changed && !this.#closed) {
      this.#changed = false;
      await sleep(QUIET_MS);
    }
    if (this.#failed) throw this.#failed;
    return !this.#closed;
  }

  close() {
    this.#closed = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#wake();
  }

  #open(folder, counts) {
    const changed = () => {
      this.#changed = true;
      this.#wake();
    };
    let watcher;
    try {
      watcher = watch(join(this.root, folder), (_event, name) => {
        if (name === null || counts(name)) changed();
      });
    } catch (fault) {
      // Removed since it was listed.
      if (fault.code === 'ENOENT') return changed();
      throw fault;
    }
    watcher.on('error', (fault) => {
      watcher.close();
      this.#watchers.delete(folder);
      // Windows reports this for a removed folder.
      if (fault.code !== 'EPERM') this.#failed = fault;
      changed();
    });
    this.#watchers.set(folder, watcher);
  }
}

function changedIn(before, after) {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].filter((path) => before[path] !== after[path]).sort();
}

/** The parts that run these sources. No part runs tests or the supervisor's own scripts. */
function partsOf(paths) {
  const touches = (...starts) => paths.some((path) => starts.some((start) => path.startsWith(start)));
  const shared = touches('settings.ts', 'workflows/', 'db/', 'activities/html/');
  return [...(shared || touches('api/') ? ['api'] : []), ...(shared || touches('activities/') ? ['worker'] : [])];
}

const named = (paths) => (paths.length > 3 ? `${paths.length} files` : paths.join(', '));

/** In a separate process: this one has loaded the old migrations. */
async function migrate(root, databaseUrl, say, stopped) {
  const child = spawn(process.execPath, [join(root, 'dist', 'scripts', 'migrate.js')], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: stopped,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`The migrations failed:\n${output.trim()}`);
  say(output.trim());
  if (/ already\.$/m.test(output))
    say('a migration that was applied is not applied again: for a changed one, start over with an empty DATA_DIR');
}
