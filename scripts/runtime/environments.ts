import { WITHHELD } from '../../settings.js';
import type { Program } from '../../settings.js';

const PLAIN = new Set(['PATH', 'HOME', 'TMPDIR', 'LANG', 'LD_PRELOAD']);
/** A test's fake clock for this process: the whole service gets it. */
const CLOCK = /^FAKETIME(?!_SHARED$)/;

/** The environment of external programs, and of those that need no secrets: without the service's settings. */
export const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => PLAIN.has(name) || CLOCK.test(name)));

/** An environment without the secrets that a program does not need. */
export const environmentOf = (program: Program, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD[program].includes(name)));
