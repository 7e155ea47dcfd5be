import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { step } from './progress.mjs';

/**
 * Installs the packages when node_modules is missing or is not what package-lock.json names.
 * @param {string} root the checkout
 */
export async function ensureInstalled(root) {
  const lock = await readFile(join(root, 'package-lock.json'), 'utf8');
  const stamp = join(root, 'node_modules', '.installed-for');
  // Includes the platform: a checkout shared by two systems needs the binaries of the current one.
  const platform = `${process.platform}-${process.arch}`;
  const wanted = `${platform} ${createHash('sha256').update(lock).digest('hex')}`;
  const found = await readIfThere(stamp);
  if (found === wanted) return;
  const otherPlatform = found !== undefined && !found.startsWith(`${platform} `);
  if (otherPlatform || !(await npmInstalledThis(root, lock)))
    await step('installing packages (npm ci)', () => npmCi(root));
  await writeFile(stamp, wanted);
}

/** npm writes node_modules/.package-lock.json last: an interrupted install lacks it. */
async function npmInstalledThis(root, lock) {
  const text = await readIfThere(join(root, 'node_modules', '.package-lock.json'));
  if (text === undefined) return false;
  const wanted = Object.entries(JSON.parse(lock).packages).filter(([path]) => path !== '');
  const present = JSON.parse(text).packages;
  return wanted.every(
    ([path, entry]) => present[path]?.version === entry.version || (entry.optional && !present[path]),
  );
}

/** `--include=dev`: the build needs the compiler, also if NODE_ENV is production. */
async function npmCi(root) {
  const npm = process.env.npm_execpath;
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const child = spawn(command, [...args, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  const code = await new Promise((resolve, reject) => {
    child.on('error', (fault) =>
      reject(new Error(`npm could not be started to install the packages: ${fault.message}`)),
    );
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`npm ci failed with exit code ${code}; its output:\n${output.trim()}`);
}

async function readIfThere(path) {
  try {
    return await readFile(path, 'utf8');
  } catch (fault) {
    if (fault.code === 'ENOENT') return undefined;
    throw fault;
  }
}
