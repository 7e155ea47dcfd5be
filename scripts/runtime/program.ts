/** Runs a command-line program: an error becomes one message for the person at the terminal, and exit code 1. */
export async function asProgram(main: () => void | Promise<void>): Promise<void> {
  try {
    await main();
  } catch (fault) {
    console.error(fault instanceof Error ? fault.message : String(fault));
    process.exitCode = 1;
  }
}
