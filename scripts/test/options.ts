import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

export interface TestOptions {
  /** As given: files or folders of test/, with or without an extension. Empty: all. */
  paths: string[];
  /** A regular expression that a test's full title must match. */
  grep: string | undefined;
  /** The number of parallel runners, each with its own service. */
  runners: number;
  /** Shuffles the files; undefined: the slowest first. */
  seed: number | undefined;
  /** A file that the seconds of every test file are written to, as JSON. */
  durations: string | undefined;
  /** A file that the result of every test is written to, as JSON lines. */
  results: string | undefined;
  /** Names every test, not only every file. */
  verbose: boolean;
}

/** How the command is used. */
export const USAGE = `Usage: npm test [-- options] [files or folders of test/]
  -g, --grep REGEX     only tests whose full title matches
  --runners N          runners side by side, each with a service of its own
  --seed N             files in a random order that this number repeats
  --durations FILE     write how long every file took, set-up, waiting and processor apart (JSON)
  --results FILE       write the result of every test (JSON lines)
  --verbose            name every test`;

/** More runners would wait for processors, not for services. */
const MAX_RUNNERS = 8;
/** A test waits for a third of its time: with four runners two processors are idle for a tenth, with five never. */
const RUNNERS_PER_PROCESSOR = 2.5;

/**
 * Reads the command line of `npm test`.
 * @throws Error that names the option and how the command is used
 */
export function readOptions(args: readonly string[]): TestOptions {
  const { values, positionals } = parse(args);
  const number = (name: 'runners' | 'seed', min: number): number | undefined => {
    const text = values[name];
    if (text === undefined) return undefined;
    if (!/^\d{1,9}$/.test(text) || Number(text) < min)
      throw new Error(`--${name} takes a whole number from ${min}.\n${USAGE}`);
    return Number(text);
  };
  return {
    paths: positionals,
    grep: values.grep,
    runners: number('runners', 1) ?? Math.min(MAX_RUNNERS, Math.ceil(cpus().length * RUNNERS_PER_PROCESSOR)),
    seed: number('seed', 0),
    durations: values.durations,
    results: values.results,
    verbose: values.verbose ?? false,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        grep: { type: 'string', short: 'g' },
        runners: { type: 'string' },
        seed: { type: 'string' },
        durations: { type: 'string' },
        results: { type: 'string' },
        verbose: { type: 'boolean' },
      },
    });
  } catch (fault) {
    throw new Error(`${(fault as Error).message}\n${USAGE}`, { cause: fault });
  }
}
