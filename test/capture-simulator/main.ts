import { parseArgs } from 'node:util';
import { startSimulator } from './server.js';
import type { TriggerConfig } from './types.js';

const HELP = `Usage: npm run capture-simulator -- [options]

  --port PORT       where to listen, "auto" for a free port (SIMULATOR_PORT, default 8090)
  --host HOST       the address to listen on (default 127.0.0.1)
  --project DIR     a folder with project.json, dictionary.csv and data.csv; may be repeated
                    (default: the two projects that are shipped)
  --target URL      where data entry triggers go, for every project
  --secret SECRET   the secret that triggers are signed with, for every project
  --signing HOW     header, url or none
  --timezone ZONE   the zone of the simulator's clock (default UTC)
`;

/** `auto` is 0, which is how a free port is asked for. */
function portOf(text: string): number {
  if (text === 'auto') return 0;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new Error(`SIMULATOR_PORT must be a port number or "auto", not "${text}".`);
  return port;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      project: { type: 'string', multiple: true },
      target: { type: 'string' },
      secret: { type: 'string' },
      signing: { type: 'string' },
      timezone: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const { target, secret, signing } = values;
  if (target !== undefined && !URL.canParse(target)) throw new Error(`--target must be a URL, not "${target}".`);
  if (signing !== undefined && signing !== 'header' && signing !== 'url' && signing !== 'none')
    throw new Error(`--signing must be header, url or none, not "${signing}".`);
  const trigger: Partial<TriggerConfig> = {
    ...(target === undefined ? {} : { url: target }),
    ...(secret === undefined ? {} : { secret }),
    ...(signing === undefined ? {} : { signing }),
  };
  const simulator = await startSimulator({
    port: portOf(values.port ?? process.env['SIMULATOR_PORT'] ?? '8090'),
    trigger,
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(values.project === undefined ? {} : { projects: values.project }),
    ...(values.timezone === undefined ? {} : { timezone: values.timezone }),
  });
  process.stdout.write(
    `Capture simulator: ${simulator.url}/\nAPI:               ${simulator.apiUrl}\nControl:           ` +
      `${simulator.url}/control/\n`,
  );
  for (const view of simulator.control.projects()) {
    const token =
      simulator.control.project(view.project_id).design.users.find((user) => user.token !== null)?.token ?? 'none';
    process.stdout.write(
      `Project ${view.project_id}: ${view.title} (${view.records} records, token ${token}, triggers to ` +
        `${view.trigger.url ?? 'nowhere'})\n`,
    );
  }
  const stop = (): void => {
    simulator.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
