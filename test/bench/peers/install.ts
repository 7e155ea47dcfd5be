import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../support/environment.js';

/** The last line of versions whose custom rules of permission need no licence. */
const DIRECTUS = '11.17.4';
/** A package of it that is compiled here does not build on newer ones. */
const NODE_MAJOR = '22';

export interface Installed {
  /** The Node.js that it runs on. */
  node: string;
  /** Its program. */
  cli: string;
}

/**
 * Directus from the package registry, in a folder outside the project's own packages, with the Node.js that it
 * supports. The first time takes minutes.
 * @throws Error with npm's last lines when a package can't be had or does not build
 */
export async function installDirectus(): Promise<Installed> {
  const folder = join(root, '.cache', 'peers', `directus-${DIRECTUS}`);
  const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const nodeFolder = join(folder, 'runtime', 'node_modules', nodePackage);
  const done = join(folder, 'installed');
  if (!existsSync(done)) {
    process.stdout.write(`installing Directus ${DIRECTUS} (once, some minutes) …\n`);
    mkdirSync(folder, { recursive: true });
    await npmInstall(join(folder, 'runtime'), `${nodePackage}@${NODE_MAJOR}`, process.env);
    await npmInstall(folder, `directus@${DIRECTUS}`, {
      ...process.env,
      PATH: `${join(nodeFolder, 'bin')}:${process.env.PATH}`,
      // What is compiled is compiled against the headers of the Node.js that it runs on.
      npm_config_nodedir: nodeFolder,
    });
    writeFileSync(done, '');
  }
  return {
    node: join(nodeFolder, 'bin', 'node'),
    cli: join(folder, 'node_modules', 'directus', 'cli.js'),
  };
}

const LAST_LINES = 20;

async function npmInstall(folder: string, name: string, env: NodeJS.ProcessEnv): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--prefix', folder, '--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
  // Two of its optional packages ask for different versions of a third.
  const child = spawn('npm', [...args, '--legacy-peer-deps', name], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0)
    throw new Error(`npm could not install ${name}:\n${output.trim().split('\n').slice(-LAST_LINES).join('\n')}`);
}
