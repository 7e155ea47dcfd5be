import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { apiEndpoint } from './api-endpoint.js';
import { Control } from './control.js';
import { controlRoutes } from './control-routes.js';
import { pageRoutes } from './page.js';
import { InputError } from './schemas.js';
import type { TriggerConfig } from './types.js';
import { World } from './world.js';

export interface SimulatorOptions {
  host?: string;
  /** 0 or absent: a free one. */
  port?: number;
  /** Folders with project.json, dictionary.csv and data.csv; default: the two that are shipped. */
  projects?: readonly string[];
  version?: string;
  timezone?: string;
  /** Trigger settings for every project, over those of its project.json. */
  trigger?: Partial<TriggerConfig>;
}

export interface Simulator {
  /** `http://127.0.0.1:PORT`, without a slash at its end. */
  url: string;
  /** Ends in `/api/`. */
  apiUrl: string;
  port: number;
  control: Control;
  /** Ends every connection, the slow ones too. */
  stop(): Promise<void>;
}

/** The folder of a shipped project; a compiled program finds it in the sources, where the CSV files are. */
export function shippedProject(name: 'longitudinal' | 'classic'): string {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const places = [
    path.join(here, 'projects', name),
    path.resolve(here, '../../../test/capture-simulator/projects', name),
  ];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`The simulator's project "${name}" is in none of ${places.join(', ')}.`);
  return found;
}

async function errorsAsJson(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  try {
    await next();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    ctx.status = error.status;
    ctx.body = { error: error.message };
  }
}

/** Starts a simulator on loopback; rejects with a clear sentence when its port is taken or a project does not load. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const world = new World({
    version: options.version ?? '15.2.1',
    timezone: options.timezone ?? 'UTC',
    trigger: options.trigger ?? {},
  });
  const control = new Control(world);
  for (const folder of options.projects ?? [shippedProject('longitudinal'), shippedProject('classic')])
    await control.addProjectFolder(folder);

  const stopping = new AbortController();
  const app = new Koa();
  app.on('error', (error: NodeJS.ErrnoException & { status?: number; expose?: boolean }) => {
    // A caller that hangs up, or a stop in the middle of a slow answer, is what the faults are for.
    if (
      error.expose === true ||
      error.name === 'AbortError' ||
      ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? '')
    )
      return;
    process.stderr.write(`simulator: ${error.stack ?? error.message}\n`);
  });
  app.use(apiEndpoint(world, stopping.signal));
  app.use(errorsAsJson);
  app.use(koaBody({ jsonLimit: '64mb', formLimit: '8mb' }));
  app.use(controlRoutes(control, world).routes());
  app.use(pageRoutes(control, world).routes());

  const server = createServer(app.callback());
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`Port ${options.port ?? 0} is taken: set SIMULATOR_PORT to another one, or to "auto".`)
          : error,
      ),
    );
    server.listen(options.port ?? 0, host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The simulator listens on no port.');
  world.baseUrl = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  return {
    url: world.baseUrl,
    apiUrl: `${world.baseUrl}/api/`,
    port: address.port,
    control,
    stop: async () => {
      stopping.abort();
      const closed = new Promise<void>((resolve, reject) =>
        server.close((error) => (error ? reject(error) : resolve())),
      );
      server.closeAllConnections();
      await closed;
    },
  };
}
