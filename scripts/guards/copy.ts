import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Guard } from '../../test/guards/guard.js';
import { root } from '../../test/support/environment.js';
import { checkoutFiles } from '../../test/support/sources.js';

/** Programs that the checkout has fetched. */
const FETCHED = /^(temporal|chromium)/;
/** Without a guard in one of these files a first start leaves another data folder. */
const MAKES_TEMPLATE = /^(db\/migrations|scripts|settings)/;
/** The end of a run's output, shown where the test did not fail. */
const OUTPUT_LINES = 25;

export interface Seen {
  /** `did not run`: the file does not load, a hook failed, or the title is another's. */
  seen: 'failed' | 'passed' | 'did not run';
  output: string;
}

/** A copy of the checkout in a temporary folder, with the checkout's packages. */
export class Copy {
  private readonly folder = mkdtempSync(join(tmpdir(), 'guards-'));
  /** A data folder that the service of each test starts from. */
  private readonly template = join(this.folder, 'template');

  /** @param stopped ends the test that is running */
  constructor(private readonly stopped: AbortSignal) {
    // If started as root, PostgreSQL runs as another user and must be able to pass through.
    chmodSync(this.folder, 0o711);
    for (const path of [...checkoutFiles(), 'dist'])
      cpSync(join(root, path), join(this.folder, path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    const cache = join(root, '.cache');
    mkdirSync(join(this.folder, '.cache'));
    for (const name of readdirSync(cache).filter((one) => FETCHED.test(one)))
      symlinkSync(join(cache, name), join(this.folder, '.cache', name));
  }

  /** Takes the guard out, runs its test, and puts the guard back. */
  async without(guard: Guard): Promise<Seen> {
    const whole = readFileSync(join(root, guard.file), 'utf8');
    if (whole.split(guard.text).length !== 2)
      throw new Error(`${guard.file} does not contain this text once: ${guard.text}`);
    writeFileSync(
      join(this.folder, guard.file),
      whole.replace(guard.text, () => guard.without),
    );
    try {
      return await this.run(guard);
    } finally {
      writeFileSync(join(this.folder, guard.file), whole);
    }
  }

  /** Removes the folder; the packages that it links to stay. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async run({ file, test, title }: Guard): Promise<Seen> {
    const results = join(this.folder, 'results.jsonl');
    rmSync(results, { force: true });
    const pattern = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const child = spawn(process.execPath, ['scripts/test.mjs', test, '-g', pattern, '--results', results], {
      cwd: this.folder,
      env: {
        ...process.env,
        npm_lifecycle_event: '',
        ...(!MAKES_TEMPLATE.test(file) && { TEST_SHARED_TEMPLATE: this.template }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const stop = (): void => void child.kill('SIGTERM');
    this.stopped.addEventListener('abort', stop, { once: true });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    await once(child, 'close');
    this.stopped.removeEventListener('abort', stop);
    const states = this.statesOf(results, title);
    const seen = states.length === 0 ? 'did not run' : states.includes('failed') ? 'failed' : 'passed';
    return { seen, output: output.trimEnd().split('\n').slice(-OUTPUT_LINES).join('\n') };
  }

  /** The states of the tests with this title. A failed hook, `"before all" hook for "…"`, shows nothing. */
  private statesOf(results: string, title: string): string[] {
    // No file: what was to be tested could not be built or started.
    return (existsSync(results) ? readFileSync(results, 'utf8') : '')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { path: string[]; state: string })
      .filter(({ path }) => path.at(-1)!.startsWith(title))
      .map(({ state }) => state);
  }
}
