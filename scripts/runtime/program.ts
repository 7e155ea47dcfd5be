import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';

/**
 * Runs a command-line program: an error becomes one message for the person at the terminal, and exit code 1.
 * @param usage shown for `--help`, and after an option that there is not
 */
export async function asProgram(main: () => void | Promise<void>, usage?: string): Promise<void> {
  if (usage !== undefined && process.argv.includes('--help')) {
    console.log(usage);
    return;
  }
  try {
    await main();
  } catch (fault) {
    const isOfArguments = /^ERR_PARSE_ARGS/.test(String((fault as { code?: unknown } | null)?.code));
    console.error(fault instanceof Error ? fault.message : String(fault));
    if (isOfArguments && usage !== undefined) console.error(usage);
    process.exitCode = 1;
  }
}

/**
 * The values of a program's options. One that it does not have ends it in a sentence, with its usage; so does `--help`.
 * @param usage how it is called, as `npm run codec-server [-- --port 8234]`
 */
export function optionsOf<const Options extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: Options,
) {
  if (process.argv.includes('--help')) {
    console.log(`Usage: ${usage}`);
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (fault) {
    console.error(`${(fault as Error).message}\nUsage: ${usage}`);
    process.exit(1);
  }
}

/**
 * Ends a program that is called with an argument that it does not have: it must not run as if it had understood it.
 * @param usage how it is called, as `npm run audit:verify`
 * @param known the flags that it has
 */
export function refuseUnknownArguments(usage: string, known: readonly string[] = []): void {
  const given = process.argv.slice(2);
  const asksForHelp = given.includes('--help');
  const unknown = given.find((one) => !known.includes(one));
  if (!asksForHelp && unknown === undefined) return;
  if (asksForHelp) console.log(`Usage: ${usage}`);
  else console.error(`Unknown argument ${JSON.stringify(unknown)}. Usage: ${usage}`);
  process.exit(asksForHelp ? 0 : 1);
}
