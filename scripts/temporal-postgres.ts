/**
 * `npm run temporal:postgres [-- --port N] [-- --build]`: runs the Temporal server of docker-compose.yml with
 * PostgreSQL, on this machine and without Docker; the first time it is built from its Go modules (minutes). Data and
 * logs are in DATA_DIR/temporal-postgres. It runs until Ctrl-C; `--build` only builds.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readSettings } from '../settings.js';
import { openDataDir } from './runtime/data-dir.js';
import { keep } from './runtime/keys.js';
import { asProgram } from './runtime/program.js';
import { buildServer, builtServer, SERVER_VERSION } from './temporal-postgres/programs.js';
import type { ServerPrograms } from './temporal-postgres/programs.js';
import { serveTemporal } from './temporal-postgres/serve.js';

await asProgram(main, 'Usage: npm run temporal:postgres [-- --port 7233|auto] [--build]');

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '7233' }, build: { type: 'boolean', default: false } },
  });
  const port = values.port === 'auto' ? 'auto' : Number(values.port);
  if (port !== 'auto' && !(Number.isInteger(port) && port > 0 && port < 65_536))
    throw new Error(`--port must be a port, or auto, not ${values.port}.`);
  const ended = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => {
      ended.abort();
    });
  const programs = await built(ended.signal);
  if (values.build) return;

  const settings = readSettings();
  const data = openDataDir(settings.DATA_DIR);
  const dir = join(data.path, 'temporal-postgres');
  const events = {
    changed: () => undefined,
    say: (line: string) => {
      console.log(line);
    },
  };
  const served = await serveTemporal({
    programs,
    dir,
    host: '127.0.0.1',
    port,
    password: keep(data.keys, 'TEMPORAL_POSTGRES_PASSWORD'),
    events,
    cancelled: ended.signal,
  });
  console.log(
    `Temporal ${SERVER_VERSION} on PostgreSQL answers; start the service on it with ` +
      `TEMPORAL_ADDRESS=${served.address} (data and logs: ${dir}). Ctrl-C ends it.`,
  );
  if (!ended.signal.aborted) await once(ended.signal, 'abort');
  await served.stop();
}

/** A first build takes minutes: it prints a line every ten seconds. */
async function built(cancelled: AbortSignal): Promise<ServerPrograms> {
  const cache = join(process.cwd(), '.cache', 'temporal');
  const found = builtServer(cache);
  if (found) return found;
  const began = performance.now();
  const tell = (what: string) => {
    console.log(
      `Temporal server ${SERVER_VERSION}: ${what}, ${((performance.now() - began) / 1000).toFixed(0)} s so far`,
    );
  };
  const reminder = setInterval(tell, 10_000, 'being built from its Go modules');
  try {
    const programs = await buildServer(cache, cancelled);
    tell('built');
    return programs;
  } finally {
    clearInterval(reminder);
  }
}
