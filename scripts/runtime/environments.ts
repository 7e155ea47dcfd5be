import { WITHHELD } from '../../settings.js';
import type { Program } from '../../settings.js';

const PLAIN = new Set(['PATH', 'HOME', 'TMPDIR', 'LANG', 'LD_PRELOAD']);
/** The clock that tests may have given this process: all of the service has it. */
const CLOCK = /^FAKETIME(?!_SHARED$)/;

/** What a program of others, or one that knows no secret, needs of our environment: no setting of the service. */
export const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => PLAIN.has(name) || CLOCK.test(name)));

/** An environment without the secrets that a program has no use for. */
export const environmentOf = (program: Program, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD[program].includes(name)));
